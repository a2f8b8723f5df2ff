/* draw_svg.c - the grid as an SVG document; see draw.h */
#include "grid/draw.h"
#include "base/util.h"

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

/* The fill of a replica: its model group. Light, so that the numbers can be read. */
static const char *const fills[] = {"#a9d8f3", "#f3cf80", "#a5dfcc", "#eec2d8",
				    "#f6ee9f", "#f0b39a", "#c9c3ea", "#d5d5d5"};
static const char mp_colour[] = "#222222", dp_colour[] = "#d55e00", pp_colour[] = "#0072b2";

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

/* One line of the legend: the sign is drawn by its caller at LEFT .. LEFT+40. */
static void legend_text(const struct grid *g, int line, enum grid_axis axis, const char *what,
			struct text *out)
{
	int count = grid_group_count(g, axis);

	text_addf(out, "<text x=\"%d\" y=\"%d\">%s: %s; %d group%s of %d</text>\n", LEFT + 52,
		  56 + line * 22, grid_axis_name(axis), what, count, count == 1 ? "" : "s",
		  grid_size(g) / count);
}

static void draw_legend(const struct grid *g, struct text *out)
{
	text_addf(out,
		  "<rect x=\"%d\" y=\"44\" width=\"40\" height=\"16\" rx=\"6\" fill=\"none\" "
		  "stroke=\"%s\" stroke-width=\"1.5\"/>\n"
		  "<line x1=\"%d\" y1=\"64\" x2=\"%d\" y2=\"84\" stroke=\"%s\" "
		  "stroke-width=\"4\"/>\n"
		  "<path d=\"M%d,104 q20,-20 40,0\" fill=\"none\" stroke=\"%s\" "
		  "stroke-width=\"2\"/>\n",
		  LEFT, mp_colour, LEFT + 20, LEFT + 20, dp_colour, LEFT, pp_colour);
	for (int i = 0; i < imin(g->dp, 3); i++)
		text_addf(out,
			  "<rect x=\"%d\" y=\"110\" width=\"12\" height=\"16\" fill=\"%s\"/>\n",
			  LEFT + i * 14, fills[i]);
	legend_text(g, 0, GRID_MP, "the shards of each layer", out);
	legend_text(g, 1, GRID_DP, "replicas of the same weights", out);
	legend_text(g, 2, GRID_PP, "the stages of a pipeline", out);
	legend_text(g, 3, GRID_MODEL, "one replica of the whole model, by colour", out);
}

static void draw_panel(const struct grid *g, int pp, struct text *out)
{
	int x = panel_x(g, pp), width = g->mp * COLUMN - (COLUMN - BOX_W) + 2 * MARGIN;

	text_addf(out,
		  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\" "
		  "fill=\"#f7f7f7\" stroke=\"#ccc\"/>\n"
		  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-weight=\"bold\">stage %d"
		  "</text>\n",
		  x, TOP, width, 2 * MARGIN + 16 + g->dp * ROW - (ROW - BOX_H), x + width / 2,
		  TOP - 24, pp);
	for (int mp = 0; mp < g->mp; mp++)
		text_addf(out,
			  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">mp %d"
			  "</text>\n",
			  box_x(g, (struct coords){0, pp, mp}) + BOX_W / 2, TOP - 7, mp);
}

/* The lines of the groups, below the boxes: a dp line down to the next replica, a pp arc
   over to the next stage, and a frame around the shards. */
static void draw_lines(const struct grid *g, struct coords c, struct text *out)
{
	int x = box_x(g, c), y = box_y(c);

	if (c.dp + 1 < g->dp)
		text_addf(out,
			  "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" "
			  "stroke-width=\"4\"/>\n",
			  x + BOX_W / 4, y + BOX_H, x + BOX_W / 4, y + ROW, dp_colour);
	if (c.mp == 0)
		text_addf(out,
			  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"7\" "
			  "fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
			  x - 5, y - 5, (g->mp - 1) * COLUMN + BOX_W + 10, BOX_H + 10,
			  mp_colour);
	if (c.pp + 1 < g->pp) {
		int from = x + BOX_W * 3 / 4, to;

		c.pp++;
		to = box_x(g, c) + BOX_W / 2;
		text_addf(out,
			  "<path d=\"M%d,%d C%d,%d %d,%d %d,%d\" fill=\"none\" stroke=\"%s\" "
			  "stroke-width=\"2\"/>\n",
			  from, y, from + 20, y - 28, to - 20, y - 28, to, y, pp_colour);
	}
}

static void draw_box(const struct grid *g, int rank, struct text *out)
{
	struct coords c = grid_coords(g, rank);
	int x = box_x(g, c), y = box_y(c);

	text_addf(out,
		  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" "
		  "stroke=\"#666\"/>\n"
		  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"14\">%d</text>\n",
		  x, y, BOX_W, BOX_H, fills[(size_t)c.dp % ARRAY_SIZE(fills)], x + BOX_W / 2,
		  y + BOX_H / 2 + 5, rank);
}

void grid_draw_svg(const struct grid *g, struct text *out)
{
	int width = imax(panel_x(g, g->pp), LEFT + LEGEND_W);
	int height = TOP + 2 * MARGIN + 36 + g->dp * ROW - (ROW - BOX_H);

	text_addf(out,
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" "
		  "fill=\"#222\">\n"
		  "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
		  "<text x=\"%d\" y=\"26\" font-size=\"15\" font-weight=\"bold\">dp %d, pp %d, "
		  "mp %d: %d ranks</text>\n",
		  width, height, width, height, width, height, LEFT, g->dp, g->pp, g->mp,
		  grid_size(g));
	draw_legend(g, out);
	for (int pp = 0; pp < g->pp; pp++)
		draw_panel(g, pp, out);
	for (int dp = 0; dp < g->dp; dp++)
		text_addf(out,
			  "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">replica %d</text>\n",
			  LEFT - 12, box_y((struct coords){.dp = dp}) + BOX_H / 2 + 4, dp);
	for (int rank = 0; rank < grid_size(g); rank++)
		draw_lines(g, grid_coords(g, rank), out);
	for (int rank = 0; rank < grid_size(g); rank++)
		draw_box(g, rank, out);
	text_add(out, "</svg>\n");
}
