// `platform sandbox image [build]`: makes the image that sandboxes see, or that of builds, with the container engine of
// this machine, from the Dockerfile that lies beside the program. For operators and `platform dev`; asks no platform.
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
/** What is made where nothing is said, and the variable that names it. */
const IMAGES: Readonly<Record<string, { file: string; tag: string; variable: string }>> = {
  sandbox: { file: 'containers/Dockerfile.sandbox', tag: 'platform-sandbox', variable: 'SANDBOX_DEFAULT_IMAGE' },
  build: {
    file: 'containers/Dockerfile.sandbox-build',
    tag: 'platform-sandbox-build',
    variable: 'BUILD_SANDBOX_IMAGE',
  },
};
const FOLDER = path.join(import.meta.dirname, '../../..');
/** The Dockerfile alone comes, by standard input. */
const NO_CONTEXT = '-';

export const command = defineCommand({
  meta: { name: 'image', description: 'Make the image of sandboxes, or of build sandboxes, on this machine' },
  args: {
    kind: {
      type: 'positional',
      required: false,
      default: 'sandbox',
      description: 'sandbox: what sandboxes see; build: what builds in sandboxes see',
    },
    tag: { type: 'string', alias: 't', valueHint: 'name', description: 'Name of the image' },
    base: { type: 'string', valueHint: 'image', description: 'Image to begin with; default: debian:trixie-slim' },
    engine: { type: 'string', valueHint: 'docker|podman', description: 'Default: the one that is installed' },
  },
  async run({ args, data }) {
    const shell = data as Shell;
    const image = Object.hasOwn(IMAGES, args.kind) ? IMAGES[args.kind] : undefined;
    if (image === undefined)
      throw new CliError(`There is no image "${args.kind}"`, {
        exitCode: 2,
        advice: `${CALLED} takes sandbox or build.`,
      });
    const { tag = image.tag, base } = args;
    for (const [flag, name] of [['--tag', tag], ...(base === undefined ? [] : [['--base', base]])] as const)
      if (!IMAGE_NAME.test(name!))
        throw new CliError(`${flag} is "${name}", which is no name of an image`, {
          exitCode: 2,
          advice: `Name one such as ${image.tag}:1.`,
        });
    const program = await engineOf(shell, args.engine);
    const registry = args.kind === 'build' ? registryOf(shell.env) : null;
    const words = [
      'build',
      '-t',
      tag,
      ...(base === undefined ? [] : ['--build-arg', `BASE=${base}`]),
      ...(registry === null ? [] : ['--build-arg', `REGISTRY=${registry}`]),
      // Nothing of this machine goes in.
      NO_CONTEXT,
    ];
    const file = path.join(FOLDER, image.file);
    shell.out(`${path.basename(program)} ${words.join(' ')} < ${file}`);
    const child = spawn(program, words, { stdio: [openSync(file, 'r'), 'inherit', 'inherit'], env: shell.env });
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    if (code !== 0)
      throw new CliError(`${path.basename(program)} ended with ${signal ?? code}: the image ${tag} was not made`, {
        advice: 'What it said stands above.',
      });
    shell.out(`Made ${tag}: ${image.variable}=${tag}`);
  },
});

async function engineOf({ env }: Shell, asked: string | undefined): Promise<string> {
  if (asked !== undefined && !ENGINES.some((name) => name === asked))
    throw new CliError(`--engine is "${asked}"`, { exitCode: 2, advice: `It takes ${ENGINES.join(' or ')}.` });
  const names = asked === undefined ? ENGINES : [asked];
  for (const name of names) {
    const program = await findProgram(name, env);
    if (program !== null) return program;
  }
  throw new CliError(`${CALLED} finds no ${names.join(' and no ')} here`, {
    advice: `Install ${names.join(' or ')}, and call it again on the machine of the sandbox service.`,
  });
}

/** Where packages are, if not at the usual place; an address with a password would stay in the image's history. */
function registryOf(env: Shell['env']): string | null {
  const address = env['npm_config_registry'] ?? env['NPM_CONFIG_REGISTRY'] ?? '';
  return address === '' || address.includes('@') ? null : address.replace(/\/+$/, '');
}
