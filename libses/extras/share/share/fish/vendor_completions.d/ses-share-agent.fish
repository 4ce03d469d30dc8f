# Made by `make pages` from the options of ses-share-agent: change them there.
complete -c ses-share-agent -l listen -x -d 'Where to listen'
complete -c ses-share-agent -l provider -x -d 'Provider of libfabric'
complete -c ses-share-agent -l munge-socket -r -F -d 'Where munged listens'
complete -c ses-share-agent -l sessions -x -d 'Processes that are served at once, 4 to 4096'
complete -c ses-share-agent -l memory -x -d 'Segments of one user on this node, above which creates and puts fail with EDQUOT'
complete -c ses-share-agent -l help -d 'Print this and end'
complete -c ses-share-agent -l version -d 'Print the version and end'
