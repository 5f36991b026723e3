"""What the tests of exercise checks share."""


def said(capsys, check, *answers) -> str:
    """What a check prints about an answer."""
    check(*answers)
    return capsys.readouterr().out
