// The pictures without a browser: charts/draw.py runs this bundle in a bare engine and calls `draw`.

import "./prep";
import { drawing } from "./charts";
import { picture, type Theme } from "./charts-file";
import type { Chart } from "./data";

Object.assign(globalThis, {
  draw: (json: string, width: number, theme: Theme): string => {
    const chart = JSON.parse(json) as Chart;
    return picture(drawing(chart, width), chart, width, theme);
  },
});
