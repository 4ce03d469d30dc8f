"""``ses quotas``: what is used of how much, and when it is used up."""


def quota(name, used, days, **more):
    return {
        "system": "scratch", "kind": "user", "name": name, "vo": None, "used_bytes": used * 1e9,
        "limit_bytes": 100e9, "used_bytes_per_day": None if days is None else 2e9, "full_in_days": days,
        "sampled_at": 1.8e9, **more,
    }  # fmt: skip


def test_each_quota_says_when_it_is_used_up(ses, service):
    service.quotas = {
        "total": 60,
        "quotas": [
            quota("full", 100, 0.0, kind="project"), quota("alice", 80, 10.2),
            quota("mat", 50, 0.4, kind="group", vo="materials"), quota("bob", 1, None),
        ],
        "sources": [{"system": "home", "target": "t", "error": "no answer in time"}],
        "problem": "",
    }  # fmt: skip
    output = ses("quotas", "--within", "30", "--user", "alice").output
    assert service.asked == {"user": "alice", "full_within_days": "30.0", "limit": "50"}
    rows = {line.split()[1]: line for line in output.splitlines() if "scratch" in line}
    assert rows["full"].rstrip().endswith("now")
    assert "in 10 days" in rows["alice"]
    assert "80.0" in rows["alice"]
    assert "group mat (VO materials)" in rows["mat"]
    assert "in less than a day" in rows["mat"]
    assert rows["bob"].rstrip().endswith("-")
    assert "and 56 more" in output
    assert "Quotas of home: no answer in time" in output
    assert ses.json("quotas", "--limit", "60")["total"] == 60
    assert service.asked == {"limit": "60"}


def test_nothing_is_said_to_be_nothing(ses, service):
    assert "No quota is known." in ses("quotas").output
    assert "No quota is used up within 7 days." in ses("quotas", "--within", "7").output
    service.quotas["problem"] = "the monitor is away"
    assert "These may be old: the monitor is away" in ses("quotas").output
