"""Files of the array libraries, as their wheels bring them."""

import h5py
import netCDF4
import numpy

with h5py.File("array.h5", "w") as file:
    file["x"] = numpy.arange(100)
with h5py.File("array.h5", "a") as file:
    file["y"] = numpy.arange(100)
with netCDF4.Dataset("array.nc", "w") as dataset:
    dataset.createDimension("n", 100)
    dataset.createVariable("x", "f8", ("n",))[:] = numpy.arange(100)
with netCDF4.Dataset("classic.nc", "w", format="NETCDF3_CLASSIC") as dataset:
    dataset.createDimension("n", 10)
numpy.save("array.npy", numpy.arange(100))
numpy.arange(100).tofile("array.raw")
numpy.memmap("array.map", mode="w+", shape=(10,))
