! Files of every kind a Fortran program opens.
program writer
  implicit none
  integer :: unit
  open(newunit=unit, file='formatted', status='new', action='write')
  write(unit, *) 1.0
  close(unit)
  open(newunit=unit, file='stream', access='stream', form='unformatted', status='replace')
  write(unit) 2.0
  close(unit)
  open(newunit=unit, file='records', access='direct', recl=8, form='unformatted')
  write(unit, rec=3) 3.0d0
  close(unit)
  open(newunit=unit, file='appended', position='append')
  write(unit, *) 4.0
  close(unit)
  open(newunit=unit, status='scratch')
  write(unit, *) 5.0
  close(unit)
end program writer
