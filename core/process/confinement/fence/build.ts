// Builds prebuilt/fence-linux-<arch> from fence.c: `node core/process/confinement/fence/build.ts`. Nothing imports it.
import { buildStaticProgram } from '../../static-program.ts';

buildStaticProgram(import.meta.dirname, 'fence');
