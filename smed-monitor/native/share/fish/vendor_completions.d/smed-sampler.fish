# Made by `make pages` from the options of smed-sampler: change them there.
complete -c smed-sampler -l table -r -F -d 'File of the table, best below /dev/shm'
complete -c smed-sampler -l period-ms -x -d 'Time between samples, 1 to 1000'
complete -c smed-sampler -l fifo -x -d 'Run as SCHED_FIFO, 1 to 99'
complete -c smed-sampler -l core -x -d 'Stay on this core, which the site keeps free of other work'
complete -c smed-sampler -l always -d 'Never sleep'
complete -c smed-sampler -l help -d 'Print this and end'
complete -c smed-sampler -l version -d 'Print the version and end'
