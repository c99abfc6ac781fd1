// Builds prebuilt/terminal-linux-<arch> from terminal.c: `node sandbox/agent/terminal/build.ts`. Nothing
// imports it.
import { buildStaticProgram } from '#core/process/static-program.ts';

buildStaticProgram(import.meta.dirname, 'terminal');
