// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef MGMT_VERSION_H
#define MGMT_VERSION_H

#ifndef WEIR_VERSION
#define WEIR_VERSION "0.1"
#endif

#endif
