"""The `linkax` command: one module a subcommand, `main.main` in front of them."""
