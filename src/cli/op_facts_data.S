// What tests/ops and docs/ulp.tsv say of each operator, linked in as it is: read by op_facts.cpp.
        .section .rodata, "a", %progbits
        .global torchlift_op_facts, torchlift_op_facts_end
        .hidden torchlift_op_facts, torchlift_op_facts_end
torchlift_op_facts:
        .incbin "op_facts.tsv"
torchlift_op_facts_end:

        .section .note.GNU-stack, "", %progbits
