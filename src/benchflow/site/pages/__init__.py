"""One module a kind of page: each makes `Page`s from a `Study` and knows nothing of HTML."""
