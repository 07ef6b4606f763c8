"""One module a command, each with `command: click.Command`; imported only when that command is used."""
