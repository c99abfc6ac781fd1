// Artifacts in a data folder that all machines mount.
import { openArtifactsDisk } from '#artifacts/store/artifact-store-disk.ts';
import { artifactStoreContract } from './artifact-store.ts';

artifactStoreContract(([folder]) => {
  const machine = { folder: folder!, store: openArtifactsDisk(folder!) };
  return Promise.resolve({ machines: [machine, machine], close: () => machine.store.close() });
});
