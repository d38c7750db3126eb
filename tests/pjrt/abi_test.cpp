// Our declaration of the PJRT C interface against the public header, where tools/setup --all-plugins has fetched it.
#include "pjrt/abi.hpp"

#include <gtest/gtest.h>

#include "pjrt/buffer.hpp"
#include "pjrt/plugin.hpp"

#if __has_include("pjrt_c_api.h")
#include "pjrt_c_api.h"

namespace torchlift::pjrt {
namespace {

#define SAME_SIZE(ours, theirs) EXPECT_EQ(abi::kStructSize<abi::ours>, size_t{theirs##_STRUCT_SIZE}) << #theirs
#define SAME_PLACE(ours, field, theirs, their_field)                                                \
  EXPECT_EQ(offsetof(abi::ours, field), offsetof(theirs, their_field)) << #theirs "." #their_field; \
  EXPECT_EQ(sizeof(abi::ours::field), sizeof(theirs::their_field)) << #theirs "." #their_field
#define SAME(ours, theirs, field) SAME_PLACE(ours, field, theirs, field)
// The two fields that every structure begins with, and the size.
#define SAME_STRUCT(ours, theirs)  \
  SAME_SIZE(ours, theirs);         \
  SAME(ours, theirs, struct_size); \
  SAME_PLACE(ours, extensions, theirs, extension_start)

TEST(Abi, functions_lie_where_the_public_table_has_them) {
#define SAME_FUNCTION(slot, name)                                                \
  EXPECT_EQ(abi::offset_of(abi::Slot::slot), offsetof(PJRT_Api, name)) << #name; \
  EXPECT_EQ(function_name(abi::Slot::slot), #name)
  SAME_FUNCTION(ErrorDestroy, PJRT_Error_Destroy);
  SAME_FUNCTION(ErrorMessage, PJRT_Error_Message);
  SAME_FUNCTION(ErrorGetCode, PJRT_Error_GetCode);
  SAME_FUNCTION(PluginInitialize, PJRT_Plugin_Initialize);
  SAME_FUNCTION(PluginAttributes, PJRT_Plugin_Attributes);
  SAME_FUNCTION(EventDestroy, PJRT_Event_Destroy);
  SAME_FUNCTION(EventIsReady, PJRT_Event_IsReady);
  SAME_FUNCTION(EventAwait, PJRT_Event_Await);
  SAME_FUNCTION(ClientCreate, PJRT_Client_Create);
  SAME_FUNCTION(ClientDestroy, PJRT_Client_Destroy);
  SAME_FUNCTION(ClientPlatformName, PJRT_Client_PlatformName);
  SAME_FUNCTION(ClientPlatformVersion, PJRT_Client_PlatformVersion);
  SAME_FUNCTION(ClientAddressableDevices, PJRT_Client_AddressableDevices);
  SAME_FUNCTION(ClientCompile, PJRT_Client_Compile);
  SAME_FUNCTION(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer);
  SAME_FUNCTION(DeviceDescriptionId, PJRT_DeviceDescription_Id);
  SAME_FUNCTION(DeviceDescriptionKind, PJRT_DeviceDescription_Kind);
  SAME_FUNCTION(DeviceDescriptionToString, PJRT_DeviceDescription_ToString);
  SAME_FUNCTION(DeviceGetDescription, PJRT_Device_GetDescription);
  SAME_FUNCTION(ExecutableDestroy, PJRT_Executable_Destroy);
  SAME_FUNCTION(ExecutableNumOutputs, PJRT_Executable_NumOutputs);
  SAME_FUNCTION(LoadedExecutableDestroy, PJRT_LoadedExecutable_Destroy);
  SAME_FUNCTION(LoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable);
  SAME_FUNCTION(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute);
  SAME_FUNCTION(BufferDestroy, PJRT_Buffer_Destroy);
  SAME_FUNCTION(BufferElementType, PJRT_Buffer_ElementType);
  SAME_FUNCTION(BufferDimensions, PJRT_Buffer_Dimensions);
  SAME_FUNCTION(BufferIsDeleted, PJRT_Buffer_IsDeleted);
  SAME_FUNCTION(BufferToHostBuffer, PJRT_Buffer_ToHostBuffer);
  SAME_FUNCTION(BufferReadyEvent, PJRT_Buffer_ReadyEvent);
  SAME_FUNCTION(BufferUnsafePointer, PJRT_Buffer_UnsafePointer);
  SAME_FUNCTION(ExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes);
  SAME_FUNCTION(ExecutableOutputDimensions, PJRT_Executable_OutputDimensions);
#undef SAME_FUNCTION
}

TEST(Abi, table_and_values_equal_the_public_header) {
  EXPECT_EQ(offsetof(abi::Table, version), offsetof(PJRT_Api, pjrt_api_version));
  SAME_STRUCT(Version, PJRT_Api_Version);
  SAME(Version, PJRT_Api_Version, major_version);
  SAME(Version, PJRT_Api_Version, minor_version);
  SAME_STRUCT(NamedValue, PJRT_NamedValue);
  SAME(NamedValue, PJRT_NamedValue, name);
  SAME(NamedValue, PJRT_NamedValue, name_size);
  SAME(NamedValue, PJRT_NamedValue, type);
  SAME(NamedValue, PJRT_NamedValue, string_value);
  SAME_PLACE(NamedValue, int64_list_value, PJRT_NamedValue, int64_array_value);
  SAME(NamedValue, PJRT_NamedValue, value_size);
  EXPECT_EQ(static_cast<int>(abi::ValueType::String), PJRT_NamedValue_kString);
  EXPECT_EQ(static_cast<int>(abi::ValueType::Int64), PJRT_NamedValue_kInt64);
  EXPECT_EQ(static_cast<int>(abi::ValueType::Int64List), PJRT_NamedValue_kInt64List);
  EXPECT_EQ(static_cast<int>(abi::ValueType::Float), PJRT_NamedValue_kFloat);
  EXPECT_EQ(static_cast<int>(abi::ValueType::Bool), PJRT_NamedValue_kBool);
}

TEST(Abi, errors_events_and_plugin_equal_the_public_header) {
  SAME_STRUCT(ErrorDestroy, PJRT_Error_Destroy_Args);
  SAME(ErrorDestroy, PJRT_Error_Destroy_Args, error);
  SAME_STRUCT(ErrorMessage, PJRT_Error_Message_Args);
  SAME(ErrorMessage, PJRT_Error_Message_Args, error);
  SAME(ErrorMessage, PJRT_Error_Message_Args, message);
  SAME(ErrorMessage, PJRT_Error_Message_Args, message_size);
  SAME_STRUCT(ErrorGetCode, PJRT_Error_GetCode_Args);
  SAME(ErrorGetCode, PJRT_Error_GetCode_Args, error);
  SAME(ErrorGetCode, PJRT_Error_GetCode_Args, code);
  SAME_STRUCT(PluginInitialize, PJRT_Plugin_Initialize_Args);
  SAME_STRUCT(PluginAttributes, PJRT_Plugin_Attributes_Args);
  SAME(PluginAttributes, PJRT_Plugin_Attributes_Args, attributes);
  SAME(PluginAttributes, PJRT_Plugin_Attributes_Args, num_attributes);
  SAME_STRUCT(EventDestroy, PJRT_Event_Destroy_Args);
  SAME(EventDestroy, PJRT_Event_Destroy_Args, event);
  SAME_STRUCT(EventIsReady, PJRT_Event_IsReady_Args);
  SAME(EventIsReady, PJRT_Event_IsReady_Args, event);
  SAME(EventIsReady, PJRT_Event_IsReady_Args, is_ready);
  SAME_STRUCT(EventAwait, PJRT_Event_Await_Args);
  SAME(EventAwait, PJRT_Event_Await_Args, event);
}

TEST(Abi, client_and_devices_equal_the_public_header) {
  SAME_STRUCT(ClientCreate, PJRT_Client_Create_Args);
  SAME(ClientCreate, PJRT_Client_Create_Args, create_options);
  SAME(ClientCreate, PJRT_Client_Create_Args, num_options);
  SAME(ClientCreate, PJRT_Client_Create_Args, kv_get_callback);
  SAME(ClientCreate, PJRT_Client_Create_Args, kv_get_user_arg);
  SAME(ClientCreate, PJRT_Client_Create_Args, kv_put_callback);
  SAME(ClientCreate, PJRT_Client_Create_Args, kv_put_user_arg);
  SAME(ClientCreate, PJRT_Client_Create_Args, client);
  SAME(ClientCreate, PJRT_Client_Create_Args, kv_try_get_callback);
  SAME(ClientCreate, PJRT_Client_Create_Args, kv_try_get_user_arg);
  SAME_STRUCT(ClientDestroy, PJRT_Client_Destroy_Args);
  SAME(ClientDestroy, PJRT_Client_Destroy_Args, client);
  SAME_STRUCT(ClientPlatformName, PJRT_Client_PlatformName_Args);
  SAME(ClientPlatformName, PJRT_Client_PlatformName_Args, client);
  SAME(ClientPlatformName, PJRT_Client_PlatformName_Args, platform_name);
  SAME(ClientPlatformName, PJRT_Client_PlatformName_Args, platform_name_size);
  SAME_STRUCT(ClientPlatformVersion, PJRT_Client_PlatformVersion_Args);
  SAME(ClientPlatformVersion, PJRT_Client_PlatformVersion_Args, client);
  SAME(ClientPlatformVersion, PJRT_Client_PlatformVersion_Args, platform_version);
  SAME(ClientPlatformVersion, PJRT_Client_PlatformVersion_Args, platform_version_size);
  SAME_STRUCT(ClientAddressableDevices, PJRT_Client_AddressableDevices_Args);
  SAME(ClientAddressableDevices, PJRT_Client_AddressableDevices_Args, client);
  SAME_PLACE(ClientAddressableDevices, devices, PJRT_Client_AddressableDevices_Args, addressable_devices);
  SAME_PLACE(ClientAddressableDevices, num_devices, PJRT_Client_AddressableDevices_Args, num_addressable_devices);
  SAME_STRUCT(DeviceGetDescription, PJRT_Device_GetDescription_Args);
  SAME(DeviceGetDescription, PJRT_Device_GetDescription_Args, device);
  SAME_PLACE(DeviceGetDescription, description, PJRT_Device_GetDescription_Args, device_description);
  SAME_STRUCT(DeviceDescriptionId, PJRT_DeviceDescription_Id_Args);
  SAME_PLACE(DeviceDescriptionId, description, PJRT_DeviceDescription_Id_Args, device_description);
  SAME(DeviceDescriptionId, PJRT_DeviceDescription_Id_Args, id);
  SAME_STRUCT(DeviceDescriptionKind, PJRT_DeviceDescription_Kind_Args);
  SAME_PLACE(DeviceDescriptionKind, description, PJRT_DeviceDescription_Kind_Args, device_description);
  SAME_PLACE(DeviceDescriptionKind, kind, PJRT_DeviceDescription_Kind_Args, device_kind);
  SAME_PLACE(DeviceDescriptionKind, kind_size, PJRT_DeviceDescription_Kind_Args, device_kind_size);
  SAME_STRUCT(DeviceDescriptionToString, PJRT_DeviceDescription_ToString_Args);
  SAME_PLACE(DeviceDescriptionToString, description, PJRT_DeviceDescription_ToString_Args, device_description);
  SAME_PLACE(DeviceDescriptionToString, text, PJRT_DeviceDescription_ToString_Args, to_string);
  SAME_PLACE(DeviceDescriptionToString, text_size, PJRT_DeviceDescription_ToString_Args, to_string_size);
}

TEST(Abi, programs_equal_the_public_header) {
  SAME_STRUCT(Program, PJRT_Program);
  SAME(Program, PJRT_Program, code);
  SAME(Program, PJRT_Program, code_size);
  SAME(Program, PJRT_Program, format);
  SAME(Program, PJRT_Program, format_size);
  SAME_STRUCT(ClientCompile, PJRT_Client_Compile_Args);
  SAME(ClientCompile, PJRT_Client_Compile_Args, client);
  SAME(ClientCompile, PJRT_Client_Compile_Args, program);
  SAME(ClientCompile, PJRT_Client_Compile_Args, compile_options);
  SAME(ClientCompile, PJRT_Client_Compile_Args, compile_options_size);
  SAME(ClientCompile, PJRT_Client_Compile_Args, executable);
  SAME_STRUCT(LoadedExecutableDestroy, PJRT_LoadedExecutable_Destroy_Args);
  SAME(LoadedExecutableDestroy, PJRT_LoadedExecutable_Destroy_Args, executable);
  SAME_STRUCT(LoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable_Args);
  SAME(LoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable_Args, loaded_executable);
  SAME(LoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable_Args, executable);
  SAME_STRUCT(ExecutableDestroy, PJRT_Executable_Destroy_Args);
  SAME(ExecutableDestroy, PJRT_Executable_Destroy_Args, executable);
  SAME_STRUCT(ExecutableNumOutputs, PJRT_Executable_NumOutputs_Args);
  SAME(ExecutableNumOutputs, PJRT_Executable_NumOutputs_Args, executable);
  SAME(ExecutableNumOutputs, PJRT_Executable_NumOutputs_Args, num_outputs);
  SAME_STRUCT(ExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes_Args);
  SAME(ExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes_Args, executable);
  SAME(ExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes_Args, output_types);
  SAME(ExecutableOutputElementTypes, PJRT_Executable_OutputElementTypes_Args, num_output_types);
  SAME_STRUCT(ExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args);
  SAME(ExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args, executable);
  SAME(ExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args, num_outputs);
  SAME(ExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args, dims);
  SAME(ExecutableOutputDimensions, PJRT_Executable_OutputDimensions_Args, dim_sizes);
}

TEST(Abi, execution_equals_the_public_header) {
  SAME_STRUCT(ExecuteOptions, PJRT_ExecuteOptions);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, send_callbacks);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, recv_callbacks);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, num_send_ops);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, num_recv_ops);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, launch_id);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, non_donatable_input_indices);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, num_non_donatable_input_indices);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, context);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, call_location);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, num_tasks);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, task_ids);
  SAME(ExecuteOptions, PJRT_ExecuteOptions, incarnation_ids);
  SAME_STRUCT(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args);
  SAME(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, executable);
  SAME(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, options);
  SAME(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, argument_lists);
  SAME(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, num_devices);
  SAME(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, num_args);
  SAME(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, output_lists);
  SAME(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, device_complete_events);
  SAME(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute_Args, execute_device);
}

TEST(Abi, buffers_equal_the_public_header) {
  SAME_STRUCT(TiledLayout, PJRT_Buffer_MemoryLayout_Tiled);
  SAME(TiledLayout, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major);
  SAME(TiledLayout, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major_size);
  SAME(TiledLayout, PJRT_Buffer_MemoryLayout_Tiled, tile_dims);
  SAME(TiledLayout, PJRT_Buffer_MemoryLayout_Tiled, tile_dim_sizes);
  SAME(TiledLayout, PJRT_Buffer_MemoryLayout_Tiled, num_tiles);
  SAME_STRUCT(MemoryLayout, PJRT_Buffer_MemoryLayout);
  SAME(MemoryLayout, PJRT_Buffer_MemoryLayout, tiled);
  SAME(MemoryLayout, PJRT_Buffer_MemoryLayout, type);
  SAME_STRUCT(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, client);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, data);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, type);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, dims);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, num_dims);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, byte_strides);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, num_byte_strides);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, host_buffer_semantics);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, device);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, memory);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, device_layout);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, done_with_host_buffer);
  SAME(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer_Args, buffer);
  SAME_STRUCT(BufferDestroy, PJRT_Buffer_Destroy_Args);
  SAME(BufferDestroy, PJRT_Buffer_Destroy_Args, buffer);
  SAME_STRUCT(BufferElementType, PJRT_Buffer_ElementType_Args);
  SAME(BufferElementType, PJRT_Buffer_ElementType_Args, buffer);
  SAME(BufferElementType, PJRT_Buffer_ElementType_Args, type);
  SAME_STRUCT(BufferDimensions, PJRT_Buffer_Dimensions_Args);
  SAME(BufferDimensions, PJRT_Buffer_Dimensions_Args, buffer);
  SAME(BufferDimensions, PJRT_Buffer_Dimensions_Args, dims);
  SAME(BufferDimensions, PJRT_Buffer_Dimensions_Args, num_dims);
  SAME_STRUCT(BufferIsDeleted, PJRT_Buffer_IsDeleted_Args);
  SAME(BufferIsDeleted, PJRT_Buffer_IsDeleted_Args, buffer);
  SAME(BufferIsDeleted, PJRT_Buffer_IsDeleted_Args, is_deleted);
  SAME_STRUCT(BufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args);
  SAME(BufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, src);
  SAME(BufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, host_layout);
  SAME(BufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, dst);
  SAME(BufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, dst_size);
  SAME(BufferToHostBuffer, PJRT_Buffer_ToHostBuffer_Args, event);
  SAME_STRUCT(BufferReadyEvent, PJRT_Buffer_ReadyEvent_Args);
  SAME(BufferReadyEvent, PJRT_Buffer_ReadyEvent_Args, buffer);
  SAME(BufferReadyEvent, PJRT_Buffer_ReadyEvent_Args, event);
  SAME_STRUCT(BufferUnsafePointer, PJRT_Buffer_UnsafePointer_Args);
  SAME(BufferUnsafePointer, PJRT_Buffer_UnsafePointer_Args, buffer);
  SAME_PLACE(BufferUnsafePointer, pointer, PJRT_Buffer_UnsafePointer_Args, buffer_pointer);
}

TEST(Abi, numbers_equal_the_public_header) {
  EXPECT_EQ(static_cast<int>(abi::HostBufferSemantics::ImmutableOnlyDuringCall),
            PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  EXPECT_EQ(static_cast<int>(abi::HostBufferSemantics::ImmutableUntilTransferCompletes),
            PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
  EXPECT_EQ(static_cast<int>(abi::HostBufferSemantics::ImmutableZeroCopy), PJRT_HostBufferSemantics_kImmutableZeroCopy);
  EXPECT_EQ(static_cast<int>(abi::HostBufferSemantics::MutableZeroCopy), PJRT_HostBufferSemantics_kMutableZeroCopy);
  EXPECT_EQ(static_cast<int>(abi::MemoryLayoutType::Tiled), PJRT_Buffer_MemoryLayout_Type_Tiled);
  EXPECT_EQ(static_cast<int>(abi::MemoryLayoutType::Strides), PJRT_Buffer_MemoryLayout_Type_Strides);
  EXPECT_EQ(error_code_name(PJRT_Error_Code_INVALID_ARGUMENT), "INVALID_ARGUMENT");
  EXPECT_EQ(error_code_name(PJRT_Error_Code_UNIMPLEMENTED), "UNIMPLEMENTED");
  EXPECT_EQ(error_code_name(PJRT_Error_Code_UNAUTHENTICATED), "UNAUTHENTICATED");
  struct Row {
    DType dtype;
    int number;
  };
  for (Row row : {Row{DType::Bool, PJRT_Buffer_Type_PRED},
                  Row{DType::Int8, PJRT_Buffer_Type_S8},
                  Row{DType::Int16, PJRT_Buffer_Type_S16},
                  Row{DType::Int32, PJRT_Buffer_Type_S32},
                  Row{DType::Int64, PJRT_Buffer_Type_S64},
                  Row{DType::UInt8, PJRT_Buffer_Type_U8},
                  Row{DType::UInt16, PJRT_Buffer_Type_U16},
                  Row{DType::UInt32, PJRT_Buffer_Type_U32},
                  Row{DType::UInt64, PJRT_Buffer_Type_U64},
                  Row{DType::Float16, PJRT_Buffer_Type_F16},
                  Row{DType::Float32, PJRT_Buffer_Type_F32},
                  Row{DType::Float64, PJRT_Buffer_Type_F64},
                  Row{DType::BFloat16, PJRT_Buffer_Type_BF16},
                  Row{DType::Complex64, PJRT_Buffer_Type_C64},
                  Row{DType::Complex128, PJRT_Buffer_Type_C128},
                  Row{DType::Float8E5M2, PJRT_Buffer_Type_F8E5M2},
                  Row{DType::Float8E4M3FN, PJRT_Buffer_Type_F8E4M3FN},
                  Row{DType::Float8E5M2FNUZ, PJRT_Buffer_Type_F8E5M2FNUZ},
                  Row{DType::Float8E4M3FNUZ, PJRT_Buffer_Type_F8E4M3FNUZ},
                  Row{DType::Float8E8M0FNU, PJRT_Buffer_Type_F8E8M0FNU}}) {
    EXPECT_EQ(element_type_of(row.dtype), row.number) << info(row.dtype).torch_name;
    EXPECT_EQ(dtype_of(row.number), row.dtype) << row.number;
  }
  EXPECT_EQ(element_type_of(DType::Complex32), std::nullopt);
  EXPECT_EQ(dtype_of(PJRT_Buffer_Type_TOKEN), std::nullopt);
}

}  // namespace
}  // namespace torchlift::pjrt

#else

TEST(Abi, equals_the_public_header) {
  GTEST_SKIP()
      << "the public header pjrt_c_api.h is not here, so the declaration was not compared: tools/setup --all-plugins";
}

#endif
