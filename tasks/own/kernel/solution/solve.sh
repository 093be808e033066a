#!/bin/bash
ladder="builds"
