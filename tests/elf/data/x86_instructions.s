    endbr64
    bnd jmp 1f
    lock cmpxchg %rcx, 8(%rdi)
    rep movsb
    movabs $0x1122334455667788, %r11
    movabs 0x1122334455667788, %eax
    movw $0x1234, 0x12(%rsp)
    movq $-1, -8(%rbp,%rax,4)
    testb $1, (%rdi)
    testw $1, %r9w
    negl %ecx
    notb (%rcx)
    imul $300, %r8, %rax
    imul $3, %eax, %eax
    enter $16, $1
    ret $8
    push $0x1000
    shld $3, %eax, %ecx
    cmpltsd %xmm1, %xmm2
    pshufb %xmm1, %xmm2
    palignr $4, %xmm1, %xmm9
    crc32l (%rsi), %ecx
    vzeroupper
    vmovdqu 0x28(%r13), %ymm1
    vpshufd $1, %ymm1, %ymm2
    vpermilps $4, %ymm1, %ymm9
    shlx %rcx, %rdx, %rax
    rorx $3, %rdx, %r9
    vpaddd 64(%rax), %zmm1, %zmm30
    vpternlogd $0x96, %zmm1, %zmm2, %zmm3
    movl 0x11223344, %ecx
    movl foo(%rip), %ecx
1:  jrcxz 1b
    nopw 0x0(%rax,%rax,1)
foo: ud2
