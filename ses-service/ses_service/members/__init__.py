"""Who belongs to which virtual organisation, by LDAP groups and by the claims of OIDC tokens.

``mapping`` reads the file that says which group or claim stands for which organisation, ``directory`` asks
the LDAP server, ``tokens`` checks tokens with the keys of ``issuer``, ``book`` holds what was found, and
``follower`` keeps it current.  ``accounts`` holds what portals tell of theirs.
Nothing of this runs while a decision waits.
"""
