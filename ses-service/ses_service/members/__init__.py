"""Who belongs to which virtual organisation, by LDAP groups and by the claims of OIDC tokens.

``mapping`` reads the file that says which group or claim stands for which organisation, ``directory`` asks
the LDAP server, ``tokens`` checks tokens, ``book`` holds what both found, and ``follower`` keeps it current.
Nothing of this runs while a decision waits.
"""
