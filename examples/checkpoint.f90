! Writes a checkpoint from Fortran on an element that writes fast enough, by the C interface of libses.
! Says where the file went, or why it was not placed.
!
!     gfortran checkpoint.f90 $(pkg-config --libs ses) -o checkpoint
!     checkpoint FILE MB_PER_SECOND
!
! The library creates FILE, Fortran opens it: a file that exists stays where it is. The descriptor is
! closed after that, so that the file counts as in use all the time.
module ses
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int), parameter :: SES_OK = 0

  type, bind(c) :: ses_result ! as in ses/ses.h
    integer(c_int32_t) :: placed, reason, create_errno, place_errno, policy_status, chosen_by
    integer(c_int64_t) :: placement_id
    real(c_double) :: distance
    character(kind=c_char) :: element(96)
    integer(c_int64_t) :: reserved(15)
  end type

  interface
    type(c_ptr) function ses_policy_new() bind(c)
      import
    end function
    subroutine ses_policy_free(policy) bind(c)
      import
      type(c_ptr), value :: policy
    end subroutine
    integer(c_int) function ses_policy_set_current_write_rate(policy, mb_per_s) bind(c)
      import
      type(c_ptr), value :: policy
      real(c_double), value :: mb_per_s
    end function
    integer(c_int) function ses_create(path, mode, policy, what_became) bind(c)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: mode
      type(c_ptr), value :: policy
      type(ses_result), intent(out) :: what_became
    end function
    type(c_ptr) function ses_strerror(status) bind(c)
      import
      integer(c_int), value :: status
    end function
    type(c_ptr) function strerror(errno) bind(c)
      import
      integer(c_int), value :: errno
    end function
    integer(c_size_t) function strlen(text) bind(c)
      import
      type(c_ptr), value :: text
    end function
    integer(c_int) function close_descriptor(fd) bind(c, name="close")
      import
      integer(c_int), value :: fd
    end function
  end interface

contains

  function text_of(text) result(copy) ! what C ends with a NUL
    type(c_ptr), intent(in) :: text
    character(kind=c_char), pointer :: characters(:)
    character(:), allocatable :: copy
    call c_f_pointer(text, characters, [strlen(text)])
    allocate(character(size(characters)) :: copy)
    copy = transfer(characters, copy)
  end function
end module

program checkpoint
  use ses
  implicit none
  character(4096) :: name, rate
  real(c_double) :: mb_per_s, state(1000) = 1
  type(ses_result), target :: what_became
  type(c_ptr) :: policy
  integer(c_int) :: fd, status
  integer :: unit

  call get_command_argument(1, name)
  call get_command_argument(2, rate)
  read (rate, *) mb_per_s

  policy = ses_policy_new()
  status = ses_policy_set_current_write_rate(policy, mb_per_s)
  if (status /= SES_OK) then
    write (*, '(a)') trim(rate) // ': ' // text_of(ses_strerror(status))
    stop 2
  end if
  fd = ses_create(trim(name) // c_null_char, int(o'666', c_int), policy, what_became)
  call ses_policy_free(policy)
  if (fd < 0) then
    write (*, '(a)') trim(name) // ': ' // text_of(strerror(what_became%create_errno))
    stop 1
  end if

  open (newunit=unit, file=trim(name), access='stream', form='unformatted', status='old', action='write')
  status = close_descriptor(fd)
  write (unit) state
  close (unit)
  if (what_became%placed == 1) then
    write (*, '(a)') trim(name) // ' is on ' // text_of(c_loc(what_became%element))
  else
    write (*, '(a)') trim(name) // ' was not placed: ' // text_of(ses_strerror(what_became%reason))
  end if
end program
