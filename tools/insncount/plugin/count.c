// A plugin for QEMU's user-mode emulation that counts the instructions that a program runs in functions whose names begin
// with a prefix: -plugin count.so,prefix=NAME. The count goes to standard error at the end. The declarations are those of
// version 1 of QEMU's plugin interface, whose header Debian does not ship.
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
typedef void (*tb_trans_cb)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*atexit_cb)(qemu_plugin_id_t, void *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, atexit_cb cb, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, enum qemu_plugin_op op, void *at, uint64_t value);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

static char prefix[256];
static uint64_t count;

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const char *name = qemu_plugin_insn_symbol(insn);
		if (name && strncmp(name, prefix, strlen(prefix)) == 0)
			qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &count, 1);
	}
}

static void finish(qemu_plugin_id_t id, void *data) {
	(void)id, (void)data;
	fprintf(stderr, "instructions %" PRIu64 "\n", count);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
	(void)info;
	for (int i = 0; i < argc; i++)
		if (strncmp(argv[i], "prefix=", 7) == 0)
			snprintf(prefix, sizeof prefix, "%s", argv[i] + 7);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
