// What is deployed to a platform of a test: sources that are written, built and published into its data folder.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build } from '#builder/build/build.ts';
import { parseProjectConfig, type ProjectConfig } from '#core/config/project-config.ts';
import { publish } from '#artifacts/publish.ts';

/**
 * Code of a worker, its platform.yaml, further files by path; `branch`: of a preview, default production's; its
 * variables.
 */
export type SourceGiven = [
  name: string,
  code: string,
  yaml?: string,
  files?: Readonly<Record<string, string>>,
  branch?: string,
  vars?: Readonly<Record<string, string>>,
];

/** Builds into a data folder, and publishes there. */
export function deployInto(folder: string): {
  make(...given: SourceGiven): Promise<{ id: string; folder: string }>;
  deploy(...given: SourceGiven): Promise<void>;
} {
  const make = async (...[name, code, yaml = '', files = {}, branch = 'main']: SourceGiven) => {
    const root = join(folder, 'sources', name, branch);
    for (const [path, text] of Object.entries({ 'src/index.ts': code, ...files })) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    const config = parseProjectConfig(yaml, { file: 'platform.yaml' }).config as ProjectConfig;
    return build({ root, config, artifacts: join(folder, 'artifacts'), durable: false });
  };
  return {
    make,
    async deploy(...given) {
      const artifact = await make(...given);
      const [project, , , , branch = 'main', vars] = given;
      publish({
        dataFolder: folder,
        project,
        branch,
        production: branch === 'main',
        artifactFolder: artifact.folder,
        artifactId: artifact.id,
        ...(vars === undefined ? {} : { vars }),
      });
    },
  };
}
