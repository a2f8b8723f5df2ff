/*
 * sizes.h - how the work of kernels is cut: what the kernels and those who launch them agree
 * on. Only preprocessor lines, since both read it.
 */
#ifndef KOLM_DEVICE_GPU_SIZES_H
#define KOLM_DEVICE_GPU_SIZES_H

/* Elementwise kernels: a group has TILE_X columns of TILE_Y rows. */
#define TILE_X	   32
#define TILE_Y	   8
/* One group for each row, or for each piece of a flat array. */
#define ROW_ITEMS  128
#define FLAT_ITEMS 256
/* Column sums: COLUMNS side by side, each by LANES items. */
#define COLUMNS	   32
#define LANES	   8
/* Ways to cut a product, see product.cl: TILE_M, TILE_N, TILE_K, ITEM_M, ITEM_N. Small ones
   take the first. All give the same bits. */
#define PRODUCT_TILES(X)     \
	X(32, 32, 32, 2, 2)  \
	X(64, 64, 16, 4, 4)  \
	X(128, 64, 16, 8, 4) \
	X(128, 128, 16, 8, 8)
/* Attention: a group has a block of queries (or keys), and SLICE columns of a head's result;
   CHUNK columns of a head are multiplied at a time. */
#define ATTENTION_BLOCK 32
#define ATTENTION_CHUNK 32
#define ATTENTION_SLICE 64
#define ATTENTION_ITEMS 256

#endif
