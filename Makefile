# SPDX-License-Identifier: GPL-2.0-only
#
# Entry point of the build; `make help` explains it. The rules of the modules are
# in Kbuild, those of user space in userspace/*/Makefile.

# The running kernel if its headers are here, else the newest Debian headers.
running := /lib/modules/$(shell uname -r)/build
installed := $(patsubst %/Module.symvers,%,$(wildcard /lib/modules/*/build/Module.symvers))
newest := $(lastword $(shell printf '%s\n' $(installed) | sort -V))
KDIR ?= $(if $(filter $(running),$(installed)),$(running),$(newest))

PREFIX ?= /usr/local
DESTDIR ?=
# Makefiles of other directories get it.
$(if $(filter-out /%,$(DESTDIR)),$(error DESTDIR must be an absolute path))
JOBS ?= $(shell nproc)
# Not below a make that has its own -j: expanded in recipes, where MAKEFLAGS says so.
parallel = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
lab := tests/lab/lab
headers := $(wildcard uapi/linux/*.h uapi/rdma/*.h)

# User space and the unit tests take O, DESTDIR, CC, CFLAGS, ... from here.
export DESTDIR PREFIX

installed_list = $(PREFIX)/share/linux-mpa/installed
user_parts := install-provider install-libmpa install-tcp-framing install-mpactl \
	install-bench install-headers install-boot

.PHONY: all modules userspace install uninstall install-modules install-provider \
	install-libmpa install-tcp-framing install-mpactl install-bench \
	install-headers install-boot clean distclean help deb demo check check-all \
	check-kernels coverage fuzz random random-peers soak disturbances bench bench-gate \
	bench-figures lab-shell deps
.DEFAULT_GOAL := all

all: modules userspace

modules:
	$(if $(KDIR),,$(error no kernel headers found: run scripts/deps, or set KDIR))
	$(MAKE) -C $(KDIR) M=$(CURDIR) $(parallel) modules

userspace:
	$(MAKE) -C userspace/provider $(parallel)
	$(MAKE) -C userspace/libmpa $(parallel)
	$(MAKE) -C userspace/mpactl $(parallel)
	$(MAKE) -C userspace/tcp-framing $(parallel)
	$(MAKE) -C userspace/bench $(parallel)

# What it consists of is seen in another directory.
install: install-modules $(user_parts)
	$(if $(DESTDIR),,rm -rf build/installed)
	$(if $(DESTDIR),,$(MAKE) -s $(user_parts) DESTDIR=$(CURDIR)/build/installed > /dev/null)
	$(if $(DESTDIR),,scripts/installed record '$(installed_list)' build/installed)
	$(if $(DESTDIR),,rm -rf build/installed)

uninstall:
	$(if $(DESTDIR),$(error remove $(DESTDIR) instead))
	scripts/installed remove '$(installed_list)'
	[ ! -w /etc ] || ldconfig
	[ ! -d /run/systemd/system ] || systemctl daemon-reload

# Not kernel.release: Debian's headers name the upstream release there.
release = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	$(KDIR)/include/generated/utsrelease.h)

# Kbuild would sign with Debian's key and index with System.map, which only Debian
# has.
install-modules: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(DESTDIR) \
		INSTALL_MOD_DIR=extra CONFIG_MODULE_SIG_ALL= DEPMOD=true \
		modules_install
	$(if $(DESTDIR)$(filter $(shell uname -r),$(release)),,@echo \
		'these modules are for kernel $(release), but $(shell uname -r) is running')
	$(if $(DESTDIR),@echo 'staged: depmod $(release) is left to the target',depmod $(release))

install-provider: userspace
	$(MAKE) -C userspace/provider install

# Programs find libmpa-tls.so.0 by the cache. A user who installs into a home directory may
# not write it, and has to set LD_LIBRARY_PATH in any case.
install-libmpa: userspace
	$(MAKE) -C userspace/libmpa install
	$(if $(DESTDIR),@echo 'staged: ldconfig is left to the target',[ ! -w /etc ] || ldconfig)

install-tcp-framing: userspace
	$(MAKE) -C userspace/tcp-framing install

install-mpactl: userspace
	$(MAKE) -C userspace/mpactl install

install-bench: userspace
	$(MAKE) -C userspace/bench install

install-headers:
	for header in $(headers:uapi/%=%); do \
		install -D -m 644 uapi/$$header \
			$(DESTDIR)$(PREFIX)/include/$$header || exit 1; \
	done

# systemd reads its units again only on request, udev its rules automatically.
install-boot:
	$(MAKE) -C dist install
	$(if $(DESTDIR),,[ ! -d /run/systemd/system ] || systemctl daemon-reload)

# Not Kbuild's clean: it would also clean the kernel trees in build/cache.
clean:
	find kernel tests \( -name '*.o' -o -name '*.ko' -o -name '*.mod' \
		-o -name '*.mod.c' -o -name '.*.cmd' -o -name '.*.d' \) -delete
	rm -f *.o *.ko *.mod *.mod.c .*.cmd Module.symvers modules.order
	[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name cache \
		-exec rm -rf {} +

distclean: clean
	rm -rf build

deb:
	scripts/deps deb
	scripts/build-deb

demo:
	scripts/deps demo
	tests/lab/demo

# ONLY: names of suites, * and ? allowed. Quoted, so that the shell leaves them alone.
check:
	scripts/deps check
	tests/run-check $(patsubst %,--only '%',$(ONLY))

check-all:
	scripts/deps check
	tests/run-check --all

check-kernels:
	scripts/deps kernels
	tests/run-check --kernels

coverage:
	scripts/deps check
	tests/coverage $(patsubst %,'%',$(ONLY))

fuzz:
	scripts/deps check
	$(MAKE) -C tests/fuzz $(parallel)
	$(MAKE) -C tests/fuzz fuzz

random:
	scripts/deps check
	tests/random/run $(or $(SECONDS),600)

soak:
	scripts/deps check
	tests/soak $(or $(HOURS),2)

disturbances:
	scripts/deps check
	tests/disturbances

random-peers:
	scripts/deps check
	tests/random/run-peers $(or $(SECONDS),600)

bench:
	scripts/deps bench
	$(MAKE) -s -C tests/unit bench
	tools/bench/bench $(BENCH)

# The instructions of reference operations, compared with tools/bench/gate.json.
bench-gate:
	scripts/deps bench
	tools/bench/bench gate $(BENCH)

# For an idle machine: figures, chart and tables of Documentation/performance.
bench-figures:
	scripts/deps bench
	scripts/bench-figures $(BENCH)

lab-shell:
	scripts/deps demo
	$(MAKE) all KDIR=$$($(lab) kernel stock --build-dir)
	$(lab) shell

deps:
	scripts/deps check

help:
	@echo 'Targets:'
	@echo '  all (default)   modules and userspace'
	@echo '  modules         mpa.ko and mpa_rnic.ko, at the top of this tree'
	@echo '  userspace       the verbs provider, libmpa-tls.so and libtcp-framing.so, in'
	@echo '                  build/lib; mpactl, mpa-nc, mpa-echo, tcp-framing and'
	@echo '                  mpa-bench, in build/bin'
	@echo '  install         modules (extra/), provider, mpa.driver, mpactl and its'
	@echo '                  completions, mpa-nc, mpa-bench, tcp-framing and its'
	@echo '                  library, libmpa-tls, headers, manual pages,'
	@echo '                  and the files that restore devices at boot'
	@echo '  uninstall       remove what install has installed without DESTDIR'
	@echo '  clean           remove what was built, keep the cached kernels'
	@echo '  distclean       remove build/ altogether'
	@echo 'These install the packages they need first (root or sudo):'
	@echo '  deb             Debian packages, in build/deb'
	@echo '  demo            RDMA between two hosts in a VM, with a summary'
	@echo '  check           every test except those that take hours'
	@echo '  check-all       every test: also bench-gate, connections, removal, verbs, sockets'
	@echo '                  and settings under KASAN and under KCSAN on two processors,'
	@echo '                  and the series of patches for the kernel'
	@echo '  check-kernels   suites in VMs with the other kernels of Debian 12, 13 and'
	@echo '                  their backports; the packages on both releases'
	@echo '  coverage        the lines and branches of the modules that tests execute'
	@echo '  fuzz            libFuzzer on frames, streams and headers for SECONDS'
	@echo '  random          random programs in a VM for SECONDS, guided by coverage'
	@echo '  soak            all consumers in a VM for HOURS, memory must not grow'
	@echo '  disturbances    loss, links, devices and programs that go, with all consumers'
	@echo '  random-peers    random streams of a peer, likewise'
	@echo '  bench           the RNIC, siw and plain TCP measured in one guest'
	@echo '  bench-gate      instructions of ten operations; fails above 2 % of those'
	@echo '                  recorded, BENCH=--record records them'
	@echo '  bench-figures   measures everything, and makes the chart and the tables of'
	@echo '                  Documentation/performance from it'
	@echo '  lab-shell       a shell in a VM with two hosts and their RNICs'
	@echo '  deps            only install the packages'
	@echo 'Variables:'
	@echo '  KDIR=$(KDIR)'
	@echo '                  kernel build directory to build modules against'
	@echo '  DESTDIR=        root of the installation, absolute'
	@echo '  PREFIX=$(PREFIX)   where programs, headers, manual pages, units of'
	@echo '                  systemd and the rule for udev go'
	@echo '  JOBS=$(JOBS)          parallel compilations'
	@echo '  SECONDS=600     of fuzzing, shared among the targets, or of random programs'
	@echo '  HOURS=2         of soak'
	@echo '  RUNS=           inputs of each fuzzer, instead of SECONDS'
	@echo '  TARGET=         reader, startup, startkey, ddp, early, tuf or tufread: fuzz'
	@echo '                  only that'
	@echo '  BENCH=          options of tools/bench/bench, e.g. "--mtu 1500 --repeat 3"'
	@echo '  ONLY=           suites of check or coverage, e.g. "build debug/5*";'
	@echo '                  tests/run-check --list names all of them'
	@echo '  ACCEL=tcg       QEMU accelerator of demo, check(-all) and lab-shell'
