/* SPDX-License-Identifier: GPL-2.0-only */
/* What verbs report about a device and its port. */
#ifndef MPA_RNIC_QUERY_H
#define MPA_RNIC_QUERY_H

#include <rdma/ib_verbs.h>

void rnic_get_fw_str(struct ib_device *ibdev, char *str);
int rnic_get_numa_node(struct ib_device *ibdev);
int rnic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata);
int rnic_query_port(struct ib_device *ibdev, u32 port,
		    struct ib_port_attr *attr);
int rnic_get_port_immutable(struct ib_device *ibdev, u32 port,
			    struct ib_port_immutable *immutable);
int rnic_query_gid(struct ib_device *ibdev, u32 port, int index,
		   union ib_gid *gid);

#endif /* MPA_RNIC_QUERY_H */
