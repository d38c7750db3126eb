// The schema tables, linked in as they are: read by schema.cpp.
        .section .rodata, "a", %progbits
        .global torchlift_aten_schemas, torchlift_aten_schemas_end
        .hidden torchlift_aten_schemas, torchlift_aten_schemas_end
torchlift_aten_schemas:
        .incbin "aten_schemas.txt"
torchlift_aten_schemas_end:

        .global torchlift_extra_schemas, torchlift_extra_schemas_end
        .hidden torchlift_extra_schemas, torchlift_extra_schemas_end
torchlift_extra_schemas:
        .incbin "extra_schemas.txt"
torchlift_extra_schemas_end:

        .section .note.GNU-stack, "", %progbits
