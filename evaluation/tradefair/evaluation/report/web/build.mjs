// Builds assets/report.js, report.css and draw.js (the pictures without a browser) with the licences of what is bundled,
// and notes the digests of all sources.
// `node build.mjs [folder]`: into ../assets, or into another folder to compare.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../assets"));
mkdirSync(out, { recursive: true });

const options = { bundle: true, minify: true, legalComments: "none", charset: "ascii", target: "es2022", write: false, absWorkingDir: here };
// The colours of each theme as files need them: a picture of its own has no style sheet.
const css = readFileSync(join(here, "src/report.css"), "utf8");
const themes = { light: {}, dark: {}, print: {} };
for (const [, media = "", block] of css.matchAll(/(@media[^{]*\{\s*)?:root\s*\{([^}]*)\}/g)) {
  const theme = media.includes("dark") ? "dark" : media.includes("print") ? "print" : "light";
  for (const [, name, value] of block.matchAll(/(--[\w-]+):\s*(#\w+)/g)) themes[theme][name] = value;
}
for (const theme of ["dark", "print"]) themes[theme] = { ...themes.light, ...themes[theme] };
if (!themes.light["--accent"] || themes.dark["--paper"] === themes.light["--paper"]) throw new Error("report.css: the colours of the themes are not found");
const bundle = { ...options, format: "iife", metafile: true, define: { THEMES: JSON.stringify(themes) } };
const script = await build({ ...bundle, entryPoints: ["src/main.ts"] });
const draw = await build({ ...bundle, entryPoints: ["src/draw.ts"] });
const style = await build({ ...options, entryPoints: ["src/report.css"] });

const packages = [...new Set([script, draw].flatMap((made) => Object.keys(made.metafile.inputs)).flatMap((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []))].sort();
const licences = packages.map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});

const sources = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json", ...readdirSync(join(here, "src")).sort().map((name) => `src/${name}`)];
const digest = (content) => createHash("sha256").update(content).digest("hex");
const made = { "report.js": script.outputFiles[0].contents, "report.css": style.outputFiles[0].contents, "draw.js": draw.outputFiles[0].contents, "LICENCES.txt": Buffer.from(licences.join(`\n${"-".repeat(80)}\n\n`)) };
for (const [name, content] of Object.entries(made)) writeFileSync(join(out, name), content);
const digests = {
  sources: Object.fromEntries(sources.map((name) => [name, digest(readFileSync(join(here, name)))])),
  made: Object.fromEntries(Object.entries(made).map(([name, content]) => [name, digest(content)])),
};
writeFileSync(join(out, "bundle.json"), `${JSON.stringify(digests, null, 1)}\n`);
console.log(Object.entries(made).map(([name, content]) => `${name} ${content.length} bytes`).join(", "), `from ${packages.length} packages`);
