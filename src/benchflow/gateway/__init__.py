"""The model gateway, and the scripted model that plays a provider without one.

Every call of an agent to a model goes through the gateway of its job: it holds the providers' keys,
counts tokens and dollars for each trial, keeps budgets and writes down what was asked. Nothing here
knows of Harbor or of the sandbox; docs/models.md is the manual.
"""
