/* draw_svg.c - the grid on a canvas, and as an SVG document; see draw.h */
#include "grid/draw.h"
#include "base/util.h"

#include <stdio.h>

enum {
	LEFT = 96,
	TOP = 176,
	BOX_W = 44,
	BOX_H = 32,
	COLUMN = 60, /* from box to box */
	ROW = 68,
	MARGIN = 14, /* around the boxes of a panel */
	BETWEEN = 34,
	LEGEND_W = 500,
};

/* The fill of a replica is its model group: light, so that the numbers can be read. */
static const struct paint mp_frame = {.stroke = INK_TEXT, .width = 1.5};
static const struct paint dp_line = {.stroke = INK_STRONG + HUE_VERMILLION, .width = 4};
static const struct paint pp_line = {.stroke = INK_STRONG + HUE_SKY, .width = 2};

static int panel_x(const struct grid *g, int pp)
{
	return LEFT + pp * (g->mp * COLUMN - (COLUMN - BOX_W) + 2 * MARGIN + BETWEEN);
}

static int box_x(const struct grid *g, struct coords c)
{
	return panel_x(g, c.pp) + MARGIN + c.mp * COLUMN;
}

static int box_y(struct coords c)
{
	return TOP + MARGIN + 16 + c.dp * ROW;
}

static enum ink replica_ink(int dp)
{
	return ink_of(INK_TINT, (enum hue)(dp % HUE_COUNT));
}

/* One line of the legend: the sign is drawn by its caller at LEFT .. LEFT+40. */
static void legend_text(const struct grid *g, int line, enum grid_axis axis, const char *what,
			struct canvas *canvas)
{
	int count = grid_group_count(g, axis);

	canvas_textf(canvas, LEFT + 52, 56 + line * 22, (struct label){.anchor = ANCHOR_START},
		     "%s: %s; %d group%s of %d", grid_axis_name(axis), what, count,
		     count == 1 ? "" : "s", grid_size(g) / count);
}

static void draw_legend(const struct grid *g, struct canvas *canvas)
{
	struct point arc[] = {{LEFT, 104}, {LEFT + 14, 90}, {LEFT + 26, 90}, {LEFT + 40, 104}};

	canvas_rectangle(canvas, LEFT, 44, 40, 16, 6, mp_frame);
	canvas_line(canvas, LEFT + 20, 64, LEFT + 20, 84, dp_line);
	canvas_curve(canvas, arc, pp_line);
	for (int i = 0; i < imin(g->dp, 3); i++)
		canvas_rectangle(canvas, LEFT + i * 14, 110, 12, 16, 0,
				 (struct paint){.fill = replica_ink(i)});
	legend_text(g, 0, GRID_MP, "the shards of each layer", canvas);
	legend_text(g, 1, GRID_DP, "replicas of the same weights", canvas);
	legend_text(g, 2, GRID_PP, "the stages of a pipeline", canvas);
	legend_text(g, 3, GRID_MODEL, "one replica of the whole model, by colour", canvas);
}

static void draw_panel(const struct grid *g, int pp, struct canvas *canvas)
{
	int x = panel_x(g, pp), width = g->mp * COLUMN - (COLUMN - BOX_W) + 2 * MARGIN;

	canvas_rectangle(canvas, x, TOP, width, 2 * MARGIN + 16 + g->dp * ROW - (ROW - BOX_H),
			 8, (struct paint){.fill = INK_PANEL, .stroke = INK_RULE});
	canvas_textf(canvas, x + width / 2.0, TOP - 24,
		     (struct label){.anchor = ANCHOR_MIDDLE, .font.bold = true}, "stage %d",
		     pp);
	for (int mp = 0; mp < g->mp; mp++)
		canvas_textf(canvas, box_x(g, (struct coords){0, pp, mp}) + BOX_W / 2.0,
			     TOP - 7, (struct label){.anchor = ANCHOR_MIDDLE, .ink = INK_MUTED},
			     "mp %d", mp);
}

/* The lines of the groups, below the boxes: a dp line down to the next replica, a pp arc
   over to the next stage, and a frame around the shards. */
static void draw_lines(const struct grid *g, struct coords c, struct canvas *canvas)
{
	int x = box_x(g, c), y = box_y(c);

	if (c.dp + 1 < g->dp)
		canvas_line(canvas, x + BOX_W / 4.0, y + BOX_H, x + BOX_W / 4.0, y + ROW,
			    dp_line);
	if (c.mp == 0)
		canvas_rectangle(canvas, x - 5, y - 5, (g->mp - 1) * COLUMN + BOX_W + 10,
				 BOX_H + 10, 7, mp_frame);
	if (c.pp + 1 < g->pp) {
		double from = x + BOX_W * 3 / 4.0, to;

		c.pp++;
		to = box_x(g, c) + BOX_W / 2.0;
		canvas_curve(
			canvas,
			(struct point[]){
				{from, y}, {from + 20, y - 28}, {to - 20, y - 28}, {to, y}},
			pp_line);
	}
}

static void draw_box(const struct grid *g, int rank, struct canvas *canvas)
{
	struct coords c = grid_coords(g, rank);
	int x = box_x(g, c), y = box_y(c);
	char tip[80], place[48];

	grid_describe(g, rank, place, sizeof(place));
	snprintf(tip, sizeof(tip), "rank %d: %s", rank, place);
	canvas_rectangle(
		canvas, x, y, BOX_W, BOX_H, 4,
		(struct paint){.fill = replica_ink(c.dp), .stroke = INK_MUTED, .tip = tip});
	canvas_textf(
		canvas, x + BOX_W / 2.0, y + BOX_H / 2.0 + 5,
		(struct label){.font.size = 14, .anchor = ANCHOR_MIDDLE, .ink = INK_ON_COLOR},
		"%d", rank);
}

struct point grid_draw_size(const struct grid *g)
{
	return (struct point){imax(panel_x(g, g->pp), LEFT + LEGEND_W),
			      TOP + 2 * MARGIN + 36 + g->dp * ROW - (ROW - BOX_H)};
}

void grid_draw(const struct grid *g, struct canvas *canvas)
{
	canvas_textf(canvas, LEFT, 26,
		     (struct label){.font = {.size = 15, .bold = true}, .anchor = ANCHOR_START},
		     "dp %d, pp %d, mp %d: %d ranks", g->dp, g->pp, g->mp, grid_size(g));
	draw_legend(g, canvas);
	for (int pp = 0; pp < g->pp; pp++)
		draw_panel(g, pp, canvas);
	for (int dp = 0; dp < g->dp; dp++)
		canvas_textf(canvas, LEFT - 12,
			     box_y((struct coords){.dp = dp}) + BOX_H / 2.0 + 4,
			     (struct label){.anchor = ANCHOR_END}, "replica %d", dp);
	for (int rank = 0; rank < grid_size(g); rank++)
		draw_lines(g, grid_coords(g, rank), canvas);
	for (int rank = 0; rank < grid_size(g); rank++)
		draw_box(g, rank, canvas);
}

void grid_draw_svg(const struct grid *g, struct text *out)
{
	struct point size = grid_draw_size(g);
	struct canvas_svg svg;

	canvas_svg_begin(&svg, out, size.x, size.y);
	grid_draw(g, &svg.canvas);
	canvas_svg_end(&svg);
}
