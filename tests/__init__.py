"""What several folders of tests share is imported by its place: from tests.evaluation.mutations import …."""
