/* Each MPI function that the stub defines jumps to the address in its entry. At first, this is code that calls
   swath_mpi_io_resolve (stub.c) to find the function, preserves all argument registers, and jumps to the function;
   later calls jump there directly. Each line of functions.h has two entries, in its order: MPI_, then PMPI_. */

#define SWATH_MPI_FUNCTION(name) trampoline MPI_##name; trampoline PMPI_##name
#define SWATH_MPI_LARGE_FUNCTION(name) trampoline MPI_##name##_c; trampoline PMPI_##name##_c

	.section .data.swath_mpi_io_entries, "aw"
	.p2align 3
	.hidden swath_mpi_io_entries
	.globl swath_mpi_io_entries
swath_mpi_io_entries:
	.text
	.hidden swath_mpi_io_resolve

#if defined(__x86_64__)

	.type ask, @function
ask:                            /* r11: the entry; the stack is as the caller left it */
	.cfi_startproc
	endbr64
	pushq %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq $192, %rsp
	movq %rdi, (%rsp)
	movq %rsi, 8(%rsp)
	movq %rdx, 16(%rsp)
	movq %rcx, 24(%rsp)
	movq %r8, 32(%rsp)
	movq %r9, 40(%rsp)
	movq %rax, 48(%rsp)
	movq %r10, 56(%rsp)
	movups %xmm0, 64(%rsp)
	movups %xmm1, 80(%rsp)
	movups %xmm2, 96(%rsp)
	movups %xmm3, 112(%rsp)
	movups %xmm4, 128(%rsp)
	movups %xmm5, 144(%rsp)
	movups %xmm6, 160(%rsp)
	movups %xmm7, 176(%rsp)
	movq %r11, %rdi
	call swath_mpi_io_resolve
	movq %rax, %r11
	movq (%rsp), %rdi
	movq 8(%rsp), %rsi
	movq 16(%rsp), %rdx
	movq 24(%rsp), %rcx
	movq 32(%rsp), %r8
	movq 40(%rsp), %r9
	movq 48(%rsp), %rax
	movq 56(%rsp), %r10
	movups 64(%rsp), %xmm0
	movups 80(%rsp), %xmm1
	movups 96(%rsp), %xmm2
	movups 112(%rsp), %xmm3
	movups 128(%rsp), %xmm4
	movups 144(%rsp), %xmm5
	movups 160(%rsp), %xmm6
	movups 176(%rsp), %xmm7
	leave
	.cfi_def_cfa %rsp, 8
	jmp *%r11
	.cfi_endproc
	.size ask, .-ask

	.macro trampoline name
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	jmp *.Lentry_\name(%rip)
.Lask_\name:
	endbr64
	leaq .Lentry_\name(%rip), %r11
	jmp ask
	.cfi_endproc
	.size \name, .-\name
	.section .data.swath_mpi_io_entries, "aw"
.Lentry_\name:
	.quad .Lask_\name
	.text
	.endm

#elif defined(__aarch64__)

	.type ask, %function
ask:                            /* x16: the entry */
	.cfi_startproc
	hint #34                /* bti c */
	stp x29, x30, [sp, #-224]!
	.cfi_def_cfa_offset 224
	.cfi_offset x29, -224
	.cfi_offset x30, -216
	mov x29, sp
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	str x8, [sp, #80]
	stp q0, q1, [sp, #96]
	stp q2, q3, [sp, #128]
	stp q4, q5, [sp, #160]
	stp q6, q7, [sp, #192]
	mov x0, x16
	bl swath_mpi_io_resolve
	mov x16, x0
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x8, [sp, #80]
	ldp q0, q1, [sp, #96]
	ldp q2, q3, [sp, #128]
	ldp q4, q5, [sp, #160]
	ldp q6, q7, [sp, #192]
	ldp x29, x30, [sp], #224
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	br x16
	.cfi_endproc
	.size ask, .-ask

	.macro trampoline name
	.globl \name
	.type \name, %function
	.p2align 4
\name:
	.cfi_startproc
	hint #34
	adrp x16, .Lentry_\name
	ldr x16, [x16, #:lo12:.Lentry_\name]
	br x16
.Lask_\name:
	hint #34
	adrp x16, .Lentry_\name
	add x16, x16, #:lo12:.Lentry_\name
	b ask
	.cfi_endproc
	.size \name, .-\name
	.section .data.swath_mpi_io_entries, "aw"
.Lentry_\name:
	.quad .Lask_\name
	.text
	.endm

#else
#error "The trampolines are written for x86-64 and aarch64"
#endif

#include "../functions.h"

	.section .note.GNU-stack, "", %progbits
