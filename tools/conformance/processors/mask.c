/* Preloaded: answers for `cpuid` instructions that were overwritten with `ud2` (masked.py), as a Skylake-X would: AVX-512 without VNNI; with
   GAMER_MASK=avx2 in the environment as a Haswell would.

   An emulator has no AVX-512, and a processor with VNNI never runs the kernels of one without: so the libraries are asked on this processor, and
   told that the newer extensions are not there. Both instructions are two bytes long. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define BIT(n) (1u << (n))
/* AVX512 F, DQ, PF, ER, CD, BW, VL */
#define AVX512 (BIT(16) | BIT(17) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31))

static int without_avx512;

static void answer(int number, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned char *at = (unsigned char *)r[REG_RIP];
    (void)info;
    if (at[0] != 0x0f || at[1] != 0x0b) {
        signal(number, SIG_DFL); /* another fault: as it would have been */
        return;
    }
    unsigned leaf = (unsigned)r[REG_RAX], sub = (unsigned)r[REG_RCX], a = 0, b = 0, c = 0, d = 0;
    __cpuid_count(leaf, sub, a, b, c, d);
    if (leaf == 7 && sub == 0) {
        b &= without_avx512 ? ~(AVX512 | BIT(21)) : ~BIT(21);                                          /* IFMA, and AVX-512 */
        c &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14));  /* VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ */
        d &= ~(BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25)); /* VP2INTERSECT, AMX, FP16 */
    } else if (leaf == 7) {
        a = b = c = d = 0; /* AVX-VNNI, BF16 and what came after them */
    }
    r[REG_RAX] = a, r[REG_RBX] = b, r[REG_RCX] = c, r[REG_RDX] = d;
    r[REG_RIP] += 2;
}

__attribute__((constructor)) static void install(void) {
    struct sigaction action;
    const char *mask = getenv("GAMER_MASK");
    without_avx512 = mask && !strcmp(mask, "avx2");
    memset(&action, 0, sizeof action);
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGILL, &action, 0);
}
