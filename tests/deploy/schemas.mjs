// Checks rendered Kubernetes manifests against the JSON schemas of their kinds,
// and for the core kinds that no field is unknown. No cluster, no network.
//
// Usage: node schemas.mjs MODULES < manifests.yaml     MODULES: node_modules
//
// It prints a line for each mistake and exits with 1 if there is one. It is no
// API server: rules between fields and the unknown fields of custom resources
// go past it.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const modules = path.resolve(process.argv[2]);
const schemaPackages = [
  'kubernetes-models',
  '@kubernetes-models/prometheus-operator',
  '@kubernetes-models/gateway-api',
];

// The classes of client-node by name; its index wants a newer Node than
// Debian's, so they are taken one by one.
async function loadClasses() {
  const folder = path.join(modules, '@kubernetes/client-node/dist/gen/models');
  const classes = new Map();
  for (const file of fs.readdirSync(folder)) {
    if (!/^(V|Int).*\.js$/.test(file)) continue;
    const loaded = await import(pathToFileURL(path.join(folder, file)));
    for (const [name, value] of Object.entries(loaded)) classes.set(name, value);
  }
  return classes;
}

// Adds to `mistakes` what of `value` the type of client-node does not know.
function checkFields(classes, type, value, at, mistakes) {
  if (value === null || value === undefined) return;
  const list = /^Array<(.*)>$/.exec(type);
  if (list) {
    if (!Array.isArray(value)) {
      mistakes.push(`${at}: must be a list`);
      return;
    }
    value.forEach((item, k) =>
      checkFields(classes, list[1], item, `${at}[${k}]`, mistakes));
    return;
  }
  const map = /^{ \[key: string\]: (.*); }$/.exec(type);
  if (map) {
    for (const [key, item] of Object.entries(value))
      checkFields(classes, map[1], item, `${at}.${key}`, mistakes);
    return;
  }
  const known = classes.get(type)?.getAttributeTypeMap?.();
  if (!known) {
    if (['string', 'number', 'boolean'].includes(type) && typeof value !== type)
      mistakes.push(`${at}: must be a ${type}, is a ${typeof value}`);
    return;
  }
  const types = new Map(known.map(a => [a.baseName, a.type]));
  for (const [key, item] of Object.entries(value)) {
    if (types.has(key))
      checkFields(classes, types.get(key), item, `${at}.${key}`, mistakes);
    else
      mistakes.push(`${at}.${key}: no such field in ${type}`);
  }
}

async function findModel(manifest) {
  for (const name of schemaPackages) {
    const file = path.join(
      modules, name, manifest.apiVersion, manifest.kind + '.js');
    if (!fs.existsSync(file)) continue;
    const loaded = await import(pathToFileURL(file));
    return {Model: loaded[manifest.kind], core: name === schemaPackages[0]};
  }
  return {};
}

const yaml = createRequire(path.join(modules, 'here.js'))('js-yaml');
const classes = await loadClasses();
let failed = 0;
for (const manifest of yaml.loadAll(fs.readFileSync(0, 'utf8'))) {
  if (!manifest) continue;
  const {Model, core} = await findModel(manifest);
  const mistakes = [];
  if (!Model) {
    mistakes.push(`no schema for ${manifest.apiVersion}`);
  } else {
    try {
      new Model(manifest).validate();
    } catch (error) {
      mistakes.push(error.message);
    }
    const version = manifest.apiVersion.split('/').pop();
    const type = 'V' + version.slice(1) + manifest.kind;
    if (core) checkFields(classes, type, manifest, '', mistakes);
  }
  for (const mistake of mistakes)
    console.log(`${manifest.kind} ${manifest.metadata?.name}: ${mistake}`);
  failed += mistakes.length;
}
process.exit(failed ? 1 : 0);
