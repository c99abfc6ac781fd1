// The manifests of containers/kubernetes/: their fields against a schema of our own, what they name in each other, and
// what the platform says to the variables of each container. No cluster is needed.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Errors } from 'typebox/schema';
import { parse } from 'yaml';
import { root } from '#cli/tasks/tools/processes.ts';
import { rowsOf, variableGroups } from '#cli/tasks/variables.ts';
import { readConfiguration as apiConfiguration } from '#control/process/configuration.ts';
import { limitVariables } from '#core/limits.ts';
import { secretVariables } from '#core/process/secret-variables.ts';
import { partsFrom } from '#runtime/supervisor/engines/parts.ts';
import { readConfiguration as webConfiguration } from '#web/configuration.ts';
import {
  dockerfileOf,
  folder,
  givenVariables,
  manifests,
  named,
  ofKind,
  pods,
  selected,
  startVariables,
  type Container,
  type Manifest,
  type Probe,
} from './manifests.ts';

const text = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const schema = JSON.parse(text('test/unit/containers/kubernetes.schema.json')) as { $defs: Record<string, object> };
const containers = pods.flatMap((pod) => pod.containers.map((container) => ({ pod, container })));
const container = (pod: string, name: string): Container =>
  containers.find((one) => one.pod.name === pod && one.container.name === name)!.container;

/** Fields that the schema does not have, and values that it refuses. */
function problemsOf({ file, ...manifest }: Manifest): string[] {
  if (schema.$defs[manifest.kind] === undefined) return [`${file}: ${manifest.kind} is not in the schema`];
  const [, found] = Errors({ ...schema, $ref: `#/$defs/${manifest.kind}` }, manifest);
  return found.map((one) => `${file}: ${one.instancePath} ${one.message}`);
}

test('every field is in the schema', () => {
  assert.equal(manifests.length, 32);
  assert.deepEqual(manifests.flatMap(problemsOf), []);
});

test('the schema refuses unknown fields, wrong types, and a Service that is published', () => {
  const service = named('Service', 'handler')!;
  const first = (spec: object): string | undefined => problemsOf({ ...service, spec })[0];
  assert.equal(first({ ...service.spec, typ: 'ClusterIP' }), 'handler.yaml: /spec/typ schema is false');
  assert.equal(
    first({ ...service.spec, type: 'NodePort' }),
    'handler.yaml: /spec/type must be equal to one of the allowed values',
  );
  const [port] = service.spec.ports;
  assert.equal(
    first({ ...service.spec, ports: [{ ...port, port: '80' }] }),
    'handler.yaml: /spec/ports/0/port must be integer',
  );
});

test('kustomization.yaml lists every file but the examples, and every image', () => {
  const listed = parse(text(`${folder}/kustomization.yaml`)) as { resources: string[]; images: { name: string }[] };
  const files = new Set(manifests.map(({ file }) => file));
  assert.deepEqual(
    listed.resources.toSorted(),
    [...files].filter((file) => file !== 'kustomization.yaml' && !file.endsWith('.example.yaml')),
  );
  const used = new Set(containers.map((one) => one.container.image));
  assert.deepEqual(listed.images.map(({ name }) => name).toSorted(), [...used].toSorted());
  for (const image of used) {
    assert.ok(text('compose.split.yaml').includes(`image: ${image}:`) || image === 'platform-handler', image);
    assert.ok(existsSync(path.join(root, dockerfileOf(image))), image);
  }
});

test('every ConfigMap, Secret and key that a container names exists', () => {
  const missing: string[] = [];
  for (const { container: one } of containers) {
    for (const { configMapRef, secretRef } of one.envFrom)
      if (named(configMapRef ? 'ConfigMap' : 'Secret', (configMapRef ?? secretRef)!.name) === undefined)
        missing.push((configMapRef ?? secretRef)!.name);
    for (const { valueFrom } of one.env)
      if (valueFrom !== undefined) {
        const { name, key } = valueFrom.secretKeyRef;
        if (named('Secret', name)?.stringData?.[key] === undefined) missing.push(`${name} ${key}`);
      }
  }
  assert.deepEqual(missing, []);
});

test('selectors match one Pod each, and ports lead to one of its containers', () => {
  const portsOf = (labels: Record<string, string>): string[] =>
    selected(labels).flatMap((pod) => pod.containers.flatMap(({ ports = [] }) => ports.map(({ name }) => name)));
  for (const { name, owner, labels } of pods) {
    assert.deepEqual(owner.spec.selector.matchLabels, labels, name);
    for (const { labelSelector } of owner.spec.template.spec.topologySpreadConstraints ?? [])
      assert.deepEqual(labelSelector.matchLabels, labels, name);
    for (const term of owner.spec.template.spec.affinity?.podAffinity.requiredDuringSchedulingIgnoredDuringExecution ??
      [])
      assert.equal(selected(term.labelSelector.matchLabels).length, 1, name);
    if (owner.kind === 'StatefulSet') assert.ok(named('Service', owner.spec.serviceName), name);
  }
  for (const { metadata, spec } of ofKind('Service')) {
    assert.equal(selected(spec.selector).length, 1, metadata.name);
    for (const { targetPort } of spec.ports) assert.ok(portsOf(spec.selector).includes(targetPort), metadata.name);
  }
  for (const { metadata, spec } of ofKind('PodDisruptionBudget')) {
    const [pod, ...others] = selected(spec.selector.matchLabels);
    assert.deepEqual(others, []);
    assert.ok(pod!.owner.spec.replicas > 1, `${metadata.name}: a budget for one Pod blocks the drain of its node`);
  }
  for (const { metadata, spec } of ofKind('NetworkPolicy')) {
    const labels = spec.podSelector.matchLabels;
    if (labels === undefined) continue;
    assert.equal(selected(labels).length, 1, metadata.name);
    for (const { ports, from = [] } of spec.ingress) {
      for (const { port } of ports) assert.ok(portsOf(labels).includes(port), `${metadata.name} ${port}`);
      for (const { podSelector } of from) assert.equal(selected(podSelector.matchLabels).length, 1, metadata.name);
    }
  }
  for (const { spec } of ofKind('Ingress'))
    for (const { http } of spec.rules)
      for (const { backend } of http.paths) {
        const ports = named('Service', backend.service.name)!.spec.ports as { name: string }[];
        assert.ok(ports.some(({ name }) => name === backend.service.port.name));
      }
});

test('each address in a variable is a port of a Service that this Pod may reach', () => {
  const used: string[] = [];
  for (const { pod, container: one } of containers)
    for (const { value = '' } of one.env) {
      const [, host, port] = /^(?:tcp|http):\/\/([a-z-]+):(\d+)$/.exec(value) ?? [];
      if (host === undefined) continue;
      const service = named('Service', host)!.spec;
      const { targetPort } = service.ports.find((entry: { port: number }) => entry.port === Number(port));
      const [target] = selected(service.selector);
      const numbers = target!.containers.flatMap(({ ports = [] }) => ports);
      assert.equal(numbers.find(({ name }) => name === targetPort)!.containerPort, Number(port));
      const rules = named('NetworkPolicy', target!.name)!.spec.ingress as {
        ports: { port: string }[];
        from?: { podSelector: { matchLabels: Record<string, string> } }[];
      }[];
      const isAllowed = rules.some(
        ({ ports, from }) =>
          ports.some((entry) => entry.port === targetPort) &&
          (from?.some(({ podSelector }) => selected(podSelector.matchLabels).includes(pod)) ?? true),
      );
      assert.ok(isAllowed, `${pod.name} to ${value}`);
      used.push(`${pod.name} ${value}`);
    }
  assert.deepEqual(used.toSorted(), [
    'api http://handler-private:8081',
    'broker http://handler-private:8081',
    'handler http://api:4002',
    'handler tcp://databases:4005',
    'migrator tcp://databases:4005',
    'web http://api:4003',
  ]);
  assert.equal(startVariables(container('databases', 'databases'))['DB_SERVICE_PORT'], '4005');
});

test('every variable is one of the platform', () => {
  const known = new Set([
    ...variableGroups.flatMap((group) => rowsOf(group).map(([name]) => name)),
    ...secretVariables.map(({ name }) => name),
    ...limitVariables,
  ]);
  const unknown = containers.flatMap(({ container: one }) =>
    Object.keys(givenVariables(one)).filter((name) => !known.has(name)),
  );
  assert.deepEqual(unknown, []);
});

test('every container would start with its variables', () => {
  for (const { pod, container: one } of containers)
    assert.doesNotThrow(() => partsFrom(startVariables(one)), `${pod.name} ${one.name}`);
  apiConfiguration(startVariables(container('api', 'api')));
  webConfiguration(startVariables(container('web', 'web')));
  const { ENGINE_SECRET: _, ...without } = startVariables(container('handler', 'handler'));
  assert.throws(() => partsFrom({ ...without, PRIVATE_PORT_TOKEN: '' }), /PRIVATE_PORT_TOKEN must have at least 16/);
});

test('containers with code of tenants have no key of the control plane', () => {
  const names = Object.keys(givenVariables(container('handler', 'handler')));
  assert.deepEqual(
    names.filter((name) => /^(?:DATABASE_URL|AUTH_SECRET|ENCRYPTION_KEY|WEB_TOKEN|ARTIFACTS_S3|DB_REPLICA)/.test(name)),
    [],
  );
});

test('Pods have no token of the cluster, and no variables of its Services', () => {
  for (const { name, owner } of pods) {
    const { automountServiceAccountToken, enableServiceLinks } = owner.spec.template.spec;
    assert.deepEqual([automountServiceAccountToken, enableServiceLinks], [false, false], name);
  }
});

test('every container but the builder is 10001 without capabilities on a read-only root', () => {
  for (const { pod, container: one } of containers) {
    const { capabilities, readOnlyRootFilesystem } = one.securityContext;
    const { runAsUser, runAsNonRoot } = pod.owner.spec.template.spec.securityContext;
    assert.deepEqual(capabilities.drop, ['ALL'], pod.name);
    if (pod.name !== 'builder')
      assert.deepEqual(
        [runAsUser, runAsNonRoot, readOnlyRootFilesystem, capabilities.add],
        [10001, true, true, undefined],
        pod.name,
      );
  }
  const compose = parse(text('compose.split.yaml'), { merge: true }) as {
    services: { builder: { cap_add: string[] } };
  };
  assert.deepEqual(container('builder', 'builder').securityContext.capabilities.add, compose.services.builder.cap_add);
});

test('the disk of the API is closed to users of builds before the builder starts', () => {
  const { initContainers } = pods.find(({ name }) => name === 'builder')!.owner.spec.template.spec;
  assert.deepEqual(
    (initContainers as { image: string; command: string[] }[]).map(({ image, command }) => [image, ...command]),
    [['platform-builder', 'chmod', '2771', '/data']],
  );
});

test('every volume that is mounted exists, and all that exist are mounted', () => {
  for (const { name, owner } of pods) {
    const { volumes, containers: own } = owner.spec.template.spec;
    const claimed = (owner.spec.volumeClaimTemplates ?? []) as Manifest[];
    const there = [
      ...volumes.map((one: { name: string }) => one.name),
      ...claimed.map(({ metadata }) => metadata.name),
    ];
    const mounted = (own as Container[]).flatMap(({ volumeMounts }) => volumeMounts.map((one) => one.name));
    assert.deepEqual([...new Set(mounted)].toSorted(), there.toSorted(), name);
    for (const { persistentVolumeClaim: claim } of volumes)
      if (claim !== undefined) assert.ok(named('PersistentVolumeClaim', claim.claimName), name);
  }
});

test('probes ask routes of the private port, or run the program of the image', () => {
  const routes = text('runtime/supervisor/private-port/private-port.ts');
  const programs = text('cli/tasks/image.ts');
  for (const { pod, container: one } of containers)
    for (const probe of [one.startupProbe, one.readinessProbe, one.livenessProbe] as (Probe | undefined)[]) {
      if (probe?.httpGet !== undefined) {
        assert.ok(routes.includes(`'${probe.httpGet.path}': {`), pod.name);
        assert.equal(one.ports?.find(({ name }) => name === probe.httpGet!.port)?.containerPort, 8081, pod.name);
        assert.equal(startVariables(one)['HOST'], '0.0.0.0', pod.name);
      } else if (probe !== undefined) {
        assert.deepEqual(probe.exec!.command, ['/opt/platform/healthy'], pod.name);
        assert.ok(programs.includes("path.join(target, 'healthy')"));
      }
    }
});
