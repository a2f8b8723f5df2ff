/* hosts.h - which ranks share a machine, and the memory that they share. Only for comm/mpi/. */
#ifndef KOLM_COMM_MPI_HOSTS_H
#define KOLM_COMM_MPI_HOSTS_H

#include "comm/mpi/mpi.h"
#include "comm/shm/shm.h"

#include <mpi.h>

/* The ranks of all that share this one's machine; see mpi_open for hosts. */
void hosts_split(MPI_Comm all, const char *hosts, MPI_Comm *local);

/* Who is where, as every rank sees it: the first rank on its machine, and its number there. */
void hosts_share_places(MPI_Comm all, MPI_Comm local, int *host_of, int *local_of);

/* Who is first on this machine, and which cores its ranks may use, together and each. */
void hosts_look_at_cores(MPI_Comm all, MPI_Comm local, struct mpi_place *place);

/* Memory that the ranks of this machine have at the same address. If that fails it fails for
   all of them, and err->reported is set but on the one that knows why. */
enum status hosts_share_memory(struct shm_memory **memory, MPI_Comm local,
			       const struct mpi_place *place, struct error *err);

#endif
