/* cmd.h - the commands. Each takes the arguments behind its name. */
#ifndef KOLM_CMD_CMD_H
#define KOLM_CMD_CMD_H

#include "base/error.h"
#include "config/option.h"

enum status cmd_train(int argc, char *const *argv, struct error *err);
enum status cmd_top(int argc, char *const *argv, struct error *err);
enum status cmd_verify(int argc, char *const *argv, struct error *err);
enum status cmd_max_batch(int argc, char *const *argv, struct error *err);
enum status cmd_bench(int argc, char *const *argv, struct error *err);
enum status cmd_grid(int argc, char *const *argv, struct error *err);
enum status cmd_schedule(int argc, char *const *argv, struct error *err);
enum status cmd_trace(int argc, char *const *argv, struct error *err);
enum status cmd_study(int argc, char *const *argv, struct error *err);
enum status cmd_report(int argc, char *const *argv, struct error *err);
enum status cmd_predict(int argc, char *const *argv, struct error *err);
enum status cmd_eval(int argc, char *const *argv, struct error *err);
enum status cmd_generate(int argc, char *const *argv, struct error *err);
enum status cmd_tokenizer(int argc, char *const *argv, struct error *err);
enum status cmd_export(int argc, char *const *argv, struct error *err);
enum status cmd_import(int argc, char *const *argv, struct error *err);
enum status cmd_info(int argc, char *const *argv, struct error *err);
enum status cmd_doctor(int argc, char *const *argv, struct error *err);
enum status cmd_plan(int argc, char *const *argv, struct error *err);
enum status cmd_devices(int argc, char *const *argv, struct error *err);
enum status cmd_selftest(int argc, char *const *argv, struct error *err);

/* Their options; that of train is config_table. */
extern const struct option_table verify_table, max_batch_table, grid_table, schedule_table;
extern const struct option_table top_table, trace_table, bench_table, studies_table,
	report_table;
extern const struct option_table predict_table, eval_table, generate_table, tokenizer_table;
extern const struct option_table export_table, import_table, plan_table;
extern const struct option_table info_table, doctor_table, devices_table, selftest_table;

/* What the cases of a study may start; see study/study.h. */
const struct study_command *study_commands(void);

#endif
