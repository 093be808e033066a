"""One job: from a request to Harbor's configuration, its agents, its worker process."""
