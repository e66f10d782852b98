# Fails if one of PROGRAMS also loads as a shared library, itself or by way of
# another one, what ARCHIVES says is linked into it: two Abseils in a process.
cmake_minimum_required(VERSION 3.25)

file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAMS}
  RESOLVED_DEPENDENCIES_VAR loaded UNRESOLVED_DEPENDENCIES_VAR unresolved)
list(LENGTH loaded count)
if(count EQUAL 0 OR unresolved)
  message(FATAL_ERROR "${count} libraries found, not found: ${unresolved}")
endif()
list(TRANSFORM loaded REPLACE "^.*/(lib[^/]*)\\.so.*$" "\\1.a")

file(STRINGS ${ARCHIVES} archives)
set(twice "")
foreach(archive IN LISTS archives)
  cmake_path(GET archive FILENAME name)
  if(name IN_LIST loaded)
    list(APPEND twice ${name})
  endif()
endforeach()
if(twice)
  message(FATAL_ERROR "linked, and loaded as well: ${twice}")
endif()
