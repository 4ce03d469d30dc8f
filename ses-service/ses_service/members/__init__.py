"""Who belongs to which virtual organisation, by LDAP groups and by the claims of OIDC tokens.

``members_file`` reads the file that says which group or claim stands for which organisation, ``directory``
asks the LDAP server, ``tokens`` checks tokens with the keys of ``issuer``, ``memberships`` holds what was
found, and ``updater`` keeps it current.  ``accounts`` holds what portals report of theirs; ``homes`` says
which of all these counts for a user.  Nothing of this runs while a decision waits.
"""
