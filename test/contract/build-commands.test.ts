// Commands of builds, confined in the best way of this machine, and as tests run them where confinement is not the
// point.
import { openFence } from '#builder/steps/fence.ts';
import { unconfined } from '#core/process/confinement/confinement.ts';
import { openInProcess } from '#test/setup/builds-in-process.ts';
import { possibleWays } from '#test/setup/confined-builds.ts';
import { testBuildCommands } from './build-commands.ts';

const [way] = await possibleWays();

testBuildCommands(way?.name ?? 'not confined', {
  open: openFence,
  confinement: way?.confinement ?? unconfined,
});
testBuildCommands('in process', { open: openInProcess, confinement: unconfined });
