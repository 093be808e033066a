"""What people say of tasks and of results: packs of questions, signed answers, figures of them."""
