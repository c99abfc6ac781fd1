// Reads the manifests of containers/kubernetes/ for kubernetes.test.ts: documents, Pods, and the variables that each
// container starts with.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { root } from '#cli/tasks/tools/processes.ts';

/** A reference to a ConfigMap or a Secret. */
interface Reference {
  readonly name: string;
  readonly optional?: boolean;
}

/** A probe: of the private port, or a program. */
export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly exec?: { readonly command: readonly string[] };
}

/** A container of a Pod. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly envFrom: readonly { readonly configMapRef?: Reference; readonly secretRef?: Reference }[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly startupProbe: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly securityContext: {
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities: { readonly drop: readonly string[]; readonly add?: readonly string[] };
  };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
}

/** The fields of a document that the tests read; the schema has checked them. */
export interface Manifest {
  readonly file: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  // The shape differs from kind to kind.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly spec?: any;
}

/** A Pod: what a Deployment or a StatefulSet starts. */
interface Pod {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly containers: readonly Container[];
  readonly owner: Manifest;
}

export const folder = 'containers/kubernetes';

/** All documents, with those of examples. */
export const manifests: readonly Manifest[] = globSync(`${folder}/*.yaml`, { cwd: root })
  .toSorted()
  .flatMap((file) =>
    parseAllDocuments(readFileSync(path.join(root, file), 'utf8')).map((document) => {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]!.message}`);
      return { ...(document.toJS() as Omit<Manifest, 'file'>), file: path.basename(file) };
    }),
  );

export const ofKind = (kind: string): readonly Manifest[] => manifests.filter((one) => one.kind === kind);

export const named = (kind: string, name: string): Manifest | undefined =>
  ofKind(kind).find(({ metadata }) => metadata.name === name);

export const pods: readonly Pod[] = [...ofKind('Deployment'), ...ofKind('StatefulSet')].map((owner) => ({
  name: owner.metadata.name,
  labels: owner.spec.template.metadata.labels,
  containers: owner.spec.template.spec.containers,
  owner,
}));

/** Pods whose labels a selector matches. */
export function selected(labels: Readonly<Record<string, string>>): readonly Pod[] {
  return pods.filter((pod) => Object.entries(labels).every(([name, value]) => pod.labels[name] === value));
}

/** Variables that the manifests give a container, with the placeholders of secrets filled in. */
export function givenVariables({ env, envFrom }: Container): Record<string, string> {
  const all: Record<string, string> = {};
  for (const { configMapRef, secretRef } of envFrom)
    Object.assign(
      all,
      configMapRef === undefined
        ? filled(named('Secret', secretRef!.name)?.stringData ?? {})
        : named('ConfigMap', configMapRef.name)?.data,
    );
  for (const { name, value, valueFrom } of env)
    all[name] =
      value ?? filled(named('Secret', valueFrom!.secretKeyRef.name)?.stringData ?? {})[valueFrom!.secretKeyRef.key]!;
  return all;
}

/** The same, over those of its image. */
export function startVariables(container: Container): Record<string, string> {
  const text = readFileSync(path.join(root, dockerfileOf(container.image)), 'utf8');
  const ofImage = [...text.slice(text.lastIndexOf('\nFROM ')).matchAll(/^ENV (.+)$/gm)].flatMap(([, line]) =>
    line!.split(' ').map((pair) => pair.split('=') as [string, string]),
  );
  return { ...Object.fromEntries(ofImage), ...givenVariables(container) };
}

/** @example dockerfileOf('platform-web') // 'containers/Dockerfile.web' */
export function dockerfileOf(image: string): string {
  const name = image.replace(/^platform-/, '');
  return name === 'handler' ? 'Dockerfile.handler' : `containers/Dockerfile.${name}`;
}

/** What an operator writes in the place of '' and of missing passwords. */
function filled(values: Readonly<Record<string, string>>): Record<string, string> {
  const secret = (use: string): string => createHash('sha256').update(use).digest('hex');
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value === '' ? secret(name) : value.replace(/^(postgres:\/\/\w+:)@/, `$1${secret(name)}@`),
    ]),
  );
}
