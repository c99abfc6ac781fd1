// `platform sandbox image [build]`: builds the image of sandboxes or of build sandboxes with the local container
// engine, from the Dockerfile in the package. Operators and users of `platform dev` run this command, which calls no
// platform.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import path from 'node:path';
import { defineCommand } from 'citty';
import { findProgram } from '#core/process/confinement/confinement.ts';
import { IMAGE_NAME } from '#core/sandbox/options.ts';
import { CliError } from '../../terminal/failure.ts';
import type { Shell } from '../../terminal/shell.ts';

const CALLED = 'platform sandbox image';
const ENGINES = ['docker', 'podman'] as const;
/** Dockerfile, default tag and variable of each image. */
const IMAGES: Readonly<Record<string, { file: string; tag: string; variable: string }>> = {
  sandbox: { file: 'containers/Dockerfile.sandbox', tag: 'platform-sandbox', variable: 'SANDBOX_DEFAULT_IMAGE' },
  build: {
    file: 'containers/Dockerfile.sandbox-build',
    tag: 'platform-sandbox-build',
    variable: 'BUILD_SANDBOX_IMAGE',
  },
};
const FOLDER = path.join(import.meta.dirname, '../../..');
/** As the build context, `-` means that only the Dockerfile is sent to the engine, on standard input. */
const NO_CONTEXT = '-';

export const command = defineCommand({
  meta: { name: 'image', description: 'Build the image of sandboxes or of build sandboxes on this machine' },
  args: {
    kind: {
      type: 'positional',
      required: false,
      default: 'sandbox',
      description: 'sandbox: image of sandboxes; build: image of build sandboxes',
    },
    tag: { type: 'string', alias: 't', valueHint: 'name', description: 'Name of the image' },
    base: { type: 'string', valueHint: 'image', description: 'Base image; default: debian:trixie-slim' },
    engine: { type: 'string', valueHint: 'docker|podman', description: 'Default: the installed engine' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const image = Object.hasOwn(IMAGES, args.kind) ? IMAGES[args.kind] : undefined;
    if (image === undefined)
      throw new CliError(`Unknown image "${args.kind}"`, {
        exitCode: 2,
        advice: `Use sandbox or build.`,
      });
    const { tag = image.tag, base } = args;
    for (const [flag, name] of [['--tag', tag], ...(base === undefined ? [] : [['--base', base]])] as const)
      if (!IMAGE_NAME.test(name!))
        throw new CliError(`${flag}: invalid image name "${name}"`, {
          exitCode: 2,
          advice: `For example: ${image.tag}:1.`,
        });
    const program = await engineOf(shell, args.engine);
    const registry = args.kind === 'build' ? registryOf(shell.env) : null;
    const words = [
      'build',
      '-t',
      tag,
      ...(base === undefined ? [] : ['--build-arg', `BASE=${base}`]),
      ...(registry === null ? [] : ['--build-arg', `REGISTRY=${registry}`]),
      // The engine gets no other files of this machine.
      NO_CONTEXT,
    ];
    const file = path.join(FOLDER, image.file);
    shell.out(`${path.basename(program)} ${words.join(' ')} < ${file}`);
    const child = spawn(program, words, { stdio: [openSync(file, 'r'), 'inherit', 'inherit'], env: shell.env });
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    if (code !== 0)
      throw new CliError(`${path.basename(program)} exited with ${signal ?? code}: could not build the image ${tag}`, {
        advice: 'See the output of the engine above.',
      });
    shell.out(`Built ${tag}: ${image.variable}=${tag}`);
  },
});

async function engineOf({ env }: Shell, asked: string | undefined): Promise<string> {
  if (asked !== undefined && !ENGINES.some((name) => name === asked))
    throw new CliError(`Unknown engine "${asked}"`, { exitCode: 2, advice: `Use ${ENGINES.join(' or ')}.` });
  const names = asked === undefined ? ENGINES : [asked];
  for (const name of names) {
    const program = await findProgram(name, env);
    if (program !== null) return program;
  }
  throw new CliError(`Found no ${names.join(' or ')}`, {
    advice: `Install ${names.join(' or ')}, then run ${CALLED} on the machine of the sandbox service.`,
  });
}

/** A custom npm registry. URLs with credentials are ignored: they would stay in the image history. */
function registryOf(env: Shell['env']): string | null {
  const address = env['npm_config_registry'] ?? env['NPM_CONFIG_REGISTRY'] ?? '';
  return address === '' || address.includes('@') ? null : address.replace(/\/+$/, '');
}
