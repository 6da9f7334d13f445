from seal_inspect.demo_alternatives import ALTERNATIVES
from seal_inspect.demo_answers import answers_of
from tests.seal_inspect.demo_models import archived, blocks_of


def test_references_of_a_model_of_few_labels():
    from tests.tasks.tagging.test_partly_labelled_model import READER, model_of

    answers = answers_of("cora", archived(model_of().float(), READER, "seal_partly_labelled_tagging"))
    answers.predictor.set_splitting(False)
    (block,) = blocks_of(answers, "A . Miller . On bridges . 1991")
    assert block["kind"] == "spans" and len(block["alternatives"]) == ALTERNATIVES
    assert set(answers.labels()) >= {label for label, *_ in block["spans"]}
