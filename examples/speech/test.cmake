# cmake -DESPEAK=... -DSPEECH=... -DMODEL=... -DSOUND=out.wav -P test.cmake: a sentence, two seconds of silence, a sentence.
execute_process(COMMAND ${ESPEAK} -m -w ${SOUND} "<speak>The quick brown fox jumps.<break time=\"2000ms\"/>Over the lazy dog.</speak>"
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SPEECH} ${MODEL} ${SOUND} OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
message("${said}")
if(NOT said MATCHES "speech from 0\\.[0-9]+ s to [12]\\.[0-9]+ s\nspeech from [34]\\.[0-9]+ s to [45]\\.[0-9]+ s\n$")
  message(FATAL_ERROR "expected two stretches of speech, about two seconds apart")
endif()
