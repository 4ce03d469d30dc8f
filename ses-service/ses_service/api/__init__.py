"""The contract: routes, shapes of requests and answers, errors; what each operation does."""
