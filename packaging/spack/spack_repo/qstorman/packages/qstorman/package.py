"""QStorMan for compute nodes: the preload library, libses, the node agent, the sampler."""

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator


class Qstorman(CMakePackage):
    """Place each new file of a data-intensive program where it will be served best."""

    homepage = "https://qstorman.invalid/"
    git = "https://qstorman.invalid/qstorman.git"

    license("Apache-2.0")

    version("main", branch="main")

    root_cmakelists_dir = "libses"

    variant("extras", default=True, description="Build libses-share and the sampler")
    variant("slurm", default=False, description="Build the plugin of Slurm")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11")
    depends_on("cpp-httplib@0.11:")
    depends_on("libfabric", when="+extras")
    depends_on("liburing")
    depends_on("nlohmann-json")
    depends_on("openssl")
    depends_on("slurm", when="+slurm")
    depends_on("spdlog")
    depends_on("xxhash")

    generator("ninja")

    requires("platform=linux", msg="what is preloaded and watched is Linux's")
    requires("target=x86_64:", msg="tested on no other processor")

    def cmake_args(self):
        """Keep one directory of libraries, whatever the distribution's habit."""
        return [
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
            self.define_from_variant("SES_EXTRAS", "extras"),
            self.define("SES_OFFLOAD", False),
            self.define_from_variant("SES_SLURM", "slurm"),
        ]

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        """Place the files of programs started with this package loaded."""
        env.append_path("LD_PRELOAD", join_path(self.prefix.lib, "libses-wrapper.so"))
